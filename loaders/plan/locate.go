package plan

import (
	"context"
	"errors"
	"fmt"

	"millrace"
	"millrace/tfrecord"
)

// FindBadRecord reads the local files, in order, up to the first record that the
// plan cannot take, and returns an error that names the place: the record is
// damaged, is not what the manifest says, or a later stage refuses it. It returns
// nil if every record is fine. It costs a strict pass over the data, so it is for
// after a failure, when TensorFlow's error names neither file nor record.
func (p *Plan) FindBadRecord(ctx context.Context) error {
	o := &tfrecord.ReaderOptions{Compression: p.Manifest.Compression}
	for _, f := range p.Files {
		if f.Remote {
			continue
		}
		err := tfrecord.Find(f.Path, o, func(r tfrecord.Record) error {
			if ctx.Err() != nil {
				return millrace.Canceled(ctx, "")
			}
			return p.checkRecord(r.Data)
		})
		if err != nil {
			return p.blame(err)
		}
	}
	return nil
}

// blame names the loader's config in an error about one of its data files.
func (p *Plan) blame(err error) error {
	var e *millrace.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", millrace.Quote(p.Path), err)
	}
	e.Loader = p.Path
	return err
}
