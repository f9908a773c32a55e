package plan

import (
	"context"
	"errors"
	"math"
	"runtime"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord"
	"millrace/tfrecord/example"

	"golang.org/x/sync/errgroup"
)

// Some records end the process when TensorFlow parses them, although every
// checksum is right: a byte string that claims 2^31 bytes or more, and more
// unpacked floats than the shape has room for (TensorFlow 2.21). Millrace's own
// operations survive any record. Where their library is missing, Go looks at
// each record of the local files before the first batch.
//
// Go's parser is stricter than TensorFlow's. A record that Go can parse is
// refused if a feature is one of the two. Of a record that Go cannot parse,
// nobody knows what TensorFlow makes of it: it is refused if its bytes could be
// one of the two wherever they stand, see mayEndProcess, and is left to
// TensorFlow otherwise.

// checksRecords reports whether Go looks at every record before the first batch.
func (p *Plan) checksRecords() bool { return p.CheckRecords || !p.OwnOperations() }

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

// refuseIn looks at the records of one file. It leaves a damaged file to the
// reader, which finds the damage before TensorFlow parses anything.
func (p *Plan) refuseIn(ctx context.Context, path string) error {
	judge := p.dangerousExample
	if p.Manifest.AllowVarLen {
		judge = p.dangerousSequence
	}
	for r, err := range tfrecord.Records(path, &tfrecord.ReaderOptions{Compression: p.Manifest.Compression}) {
		if err != nil {
			return nil
		}
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "")
		}
		if err := judge(r.Data); err != nil {
			return tfrecord.At(err, path, r)
		}
	}
	return nil
}

// dangerousExample returns an error if TensorFlow must not parse an Example.
func (p *Plan) dangerousExample(record []byte) error {
	features, err := example.Parse(record)
	if err != nil {
		return p.unparsed(record, err)
	}
	for _, f := range p.Features {
		if err := dangerous(f, features); err != nil {
			return err
		}
	}
	return nil
}

// dangerousSequence returns an error if TensorFlow must not parse a
// SequenceExample. It reads the features that nobody requested too, since
// TensorFlow's parser walks over them.
func (p *Plan) dangerousSequence(record []byte) error {
	sequence, err := example.ParseSequence(record)
	if err != nil {
		return p.unparsed(record, err)
	}
	for _, name := range sequence.Context.Names() {
		if _, err := sequence.Context.Raw(name); err != nil {
			return p.unparsed(record, err)
		}
	}
	for _, name := range sequence.ListNames() {
		if _, err := sequence.List(name); err != nil {
			return p.unparsed(record, err)
		}
	}
	for _, f := range p.Features {
		if err := dangerousIn(f, sequence); err != nil {
			return err
		}
	}
	return nil
}

// dangerousIn looks at a requested feature of a SequenceExample that could be
// read in full.
func dangerousIn(f *spec.Feature, sequence *example.SequenceExample) error {
	if !f.VarLen {
		return dangerous(f, &sequence.Context)
	}
	list, err := sequence.List(f.Name)
	if err != nil {
		return err
	}
	for _, raw := range list {
		if tooManyFloats(f, raw) {
			return inFeature(checkList(f, raw), f, "")
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
	case tooManyFloats(f, raw):
		return inFeature(checkList(f, raw), f, "")
	}
	return nil
}

// tooManyFloats reports whether a list holds more unpacked floats than the
// feature's shape has room for.
func tooManyFloats(f *spec.Feature, raw example.Raw) bool {
	return raw.Kind() == example.Float && !raw.Packed() && int64(raw.Len()) > spec.NumElements(f.StoredShape())
}

// unparsed returns the error of a record that Go cannot parse if TensorFlow
// must not parse it either, and nil if TensorFlow survives it.
func (p *Plan) unparsed(record []byte, err error) error {
	if p.mayEndProcess(record) {
		return err
	}
	return nil
}

// mayEndProcess reports whether TensorFlow's parsers might end the process over
// a record. It looks at bytes and not at structure. It says so of records that
// are harmless too, but of each that is not. cgo/fuzz checks the same rule with
// millions of records.
//
// A length of 2^31 or more is a varint of five bytes: four with the high bit,
// then one with some of its low four bits. Unpacked floats take five bytes each,
// the first of them the tag 0x0d, so a list that is too long shows as a run of
// such bytes, each five behind the last.
func (p *Plan) mayEndProcess(record []byte) bool {
	room := p.floatRoom()
	runs := make([]int64, len(record)) // of tags that end here
	high := 0                          // bytes with the high bit before this one
	for i, b := range record {
		if b == 0x0d {
			runs[i] = 1
			if i >= 5 {
				runs[i] += runs[i-5]
			}
		}
		if runs[i] > room || high >= 4 && b&0x0f != 0 {
			return true
		}
		if b >= 0x80 {
			high++
		} else {
			high = 0
		}
	}
	return false
}

// floatRoom returns how many floats the smallest requested float feature has
// room for.
func (p *Plan) floatRoom() int64 {
	room := int64(math.MaxInt64)
	for _, f := range p.Features {
		if listKind(f) == example.Float {
			room = min(room, spec.NumElements(f.StoredShape()))
		}
	}
	return room
}
