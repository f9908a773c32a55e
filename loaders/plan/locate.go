package plan

import (
	"context"
	"errors"
	"fmt"

	"millrace"
	"millrace/tfrecord"
)

// FindBadRecord reads the local files again, in order, up to the first record that
// the plan cannot take: one that is damaged, that is not what the manifest
// says, or that a later stage refuses. It returns nil when every record is
// fine, and costs a strict pass over the data: it runs only after a failure.
func (p *Plan) FindBadRecord(ctx context.Context) error {
	o := &tfrecord.ReaderOptions{Compression: p.Manifest.Compression}
	for _, f := range p.Files {
		if f.Remote {
			continue
		}
		err := tfrecord.Find(f.Path, o, func(r tfrecord.Record) error {
			if ctx.Err() != nil {
				return Canceled(ctx)
			}
			return p.checkRecord(r.Data)
		})
		if err != nil {
			return p.blame(err)
		}
	}
	return nil
}

// blame adds the loader to an error about one of its data files, and the line
// of the list that named the file.
func (p *Plan) blame(err error) error {
	var e *millrace.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", millrace.Quote(p.Path), err)
	}
	e.Loader = p.Path
	return err
}
