package loaders

import (
	"context"

	"millrace"
	"millrace/tfrecord"
)

// locate reads the local files again, in order, up to the first record that
// the plan cannot take: one that is damaged, that is not what the manifest
// says, or that a later stage refuses. It returns nil when every record is
// fine, and costs a strict pass over the data: it runs only after a failure.
func (pl *Pipeline) locate(ctx context.Context) error {
	p := pl.Plan
	o := &tfrecord.ReaderOptions{Compression: p.Manifest.Compression}
	for _, f := range p.Files {
		if f.Remote {
			continue
		}
		err := tfrecord.Find(f.Path, o, func(r tfrecord.Record) error {
			if err := ctx.Err(); err != nil {
				return millrace.Errorf(millrace.ErrCanceled, "%w", err)
			}
			return p.checkRecord(r.Data)
		})
		if err != nil {
			return p.blame(err)
		}
	}
	return nil
}
