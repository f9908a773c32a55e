package plan

import (
	"context"
	"errors"
	"fmt"

	"millrace"
	"millrace/loaders/stage/check"
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
			return check.Record(p.Spec, r.Data)
		})
		if err != nil {
			return p.blame(err)
		}
	}
	return nil
}

// Reread looks again at the record that an error of our own operations is
// about. The error has its place already; this finds the words that the manifest
// gives for what is wrong, such as a key that is nearly the same. It returns nil
// if it finds nothing, and reads no other file.
func (p *Plan) Reread(ctx context.Context, place *millrace.Error) error {
	o := &tfrecord.ReaderOptions{Compression: p.Manifest.Compression}
	for _, f := range p.Files {
		if f.Path != place.File || f.Remote {
			continue
		}
		err := tfrecord.Find(f.Path, o, func(r tfrecord.Record) error {
			if ctx.Err() != nil {
				return millrace.Canceled(ctx, "")
			}
			if place.Record < 0 || r.Ordinal < place.Record {
				return nil
			}
			if err := check.Record(p.Spec, r.Data); err != nil {
				return err
			}
			return errNothing
		})
		if err == nil || errors.Is(err, errNothing) {
			return nil
		}
		return p.blame(err)
	}
	return nil
}

// errNothing ends the reading of a file behind a record that is as it should be.
var errNothing = errors.New("nothing is wrong with the record")

// blame names the loader's config in an error about one of its data files.
func (p *Plan) blame(err error) error {
	var e *millrace.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", millrace.Quote(p.Path), err)
	}
	e.Loader = p.Path
	return err
}
