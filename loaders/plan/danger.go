package plan

import (
	"context"
	"errors"
	"runtime"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord"
	"millrace/tfrecord/example"

	"golang.org/x/sync/errgroup"
)

// Some records end the process when TensorFlow parses them, although every
// checksum is right: a byte string that claims 2^31 bytes or more, and more
// unpacked floats than the shape has room for (TensorFlow 2.21,
// ParseExampleV2). Only a look at each record finds them. Up to checkedBytes
// of data that costs no time, since it runs beside the opening of TensorFlow;
// beyond, [Plan.CheckRecords] asks for it.
const checkedBytes = 64 << 20

// checksRecords reports whether every record is looked at before TensorFlow
// sees it. The native operations survive any record.
func (p *Plan) checksRecords(scan *Scan) bool {
	return !p.Manifest.AllowVarLen && !p.OwnOperations() && (p.CheckRecords || scan.bytes() <= checkedBytes)
}

// refuseDangerous looks at the requested features of every record of the
// local files and returns an error for the first record, by file order, that
// must not reach TensorFlow. Other faults are left for when they are read.
func (p *Plan) refuseDangerous(ctx context.Context, scan *Scan) error {
	faults := make([]error, len(scan.Indexes))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, index := range scan.Indexes {
		if index != nil {
			group.Go(func() error {
				faults[i] = p.refuseIn(ctx, index.Path)
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, err := range faults {
		if err != nil {
			return p.blame(err)
		}
	}
	return nil
}

// refuseIn looks at the records of one file.
func (p *Plan) refuseIn(ctx context.Context, path string) error {
	var features example.Features
	for r, err := range tfrecord.Records(path, &tfrecord.ReaderOptions{Compression: p.Manifest.Compression}) {
		if err != nil {
			return nil // a fault that TensorFlow survives
		}
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "")
		}
		if err := features.Reset(r.Data); err != nil {
			continue // likewise
		}
		for _, f := range p.Features {
			if err := dangerous(f, &features); err != nil {
				return tfrecord.At(err, path, r)
			}
		}
	}
	return nil
}

// dangerous returns an error if parsing the feature would end the process.
func dangerous(f *spec.Feature, features *example.Features) error {
	raw, err := features.Raw(f.Name)
	var fault *millrace.Error
	switch {
	case errors.As(err, &fault) && listKind(f) == example.Bytes:
		fault.Feature = f.Name
		return fault
	case raw.Kind() == example.Float && !raw.Packed() && int64(raw.Len()) > spec.NumElements(f.StoredShape()):
		return inFeature(checkList(f, raw), f, "")
	}
	return nil
}
