package example

import (
	"math"
	"slices"
	"strings"

	"millrace"
)

// # Which records TensorFlow may parse
//
// The question. Some records end the process when TensorFlow 2.21 parses them:
//
//   - one with a byte string that claims 2^31 bytes or more, where the parser asks
//     for a feature of byte strings;
//   - an Example with more unpacked floats than the parser's shape has room for,
//     which it writes all the same;
//   - an Example whose packed list claims up to 4 GiB of floats, where any number of
//     them is asked for: the parser takes that memory before it looks whether they
//     are there, up to 64 times for one batch;
//   - a SequenceExample with a byte string that ends behind its list, where a sparse
//     feature of byte strings is asked for: the parser counts -1 values, and writes
//     as many indices as an unsigned -1 is.
//
// A record that Go can parse, and in which no requested feature is one of those, is
// taken. But Go's parser alone cannot judge: it is stricter than TensorFlow's, which
// reads on where Go gives up. Such a record is judged by its bytes, wherever they
// stand, see [Judge.Doubts]. That rule is fuzzed: MayEndProcess in
// cgo/fuzz/oracle.cc is the same, and `make fuzz-decoder` gives TensorFlow
// millions of damaged records that it calls harmless. It would not do alone: it
// cries wolf over sound records too, in which a negative integer is a varint with
// nine high bits. And the last of the four cannot be told by bytes: there Go has to
// parse every record.

// Request is what one of TensorFlow's parsers asks of records.
type Request struct {
	Sequence bool // the records are SequenceExamples

	// Whole takes only records that Go can parse. Without Features it takes only
	// those that no parser can come to harm with, whatever it asks for.
	Whole bool

	Features []Requested
}

// Requested is a feature that a parser asks for. Of a SequenceExample only the
// kind counts.
type Requested struct {
	Key  string
	Kind Kind
	// Floats is how many floats the parser's shape has room for, AnyNumber if any
	// number of them is asked for.
	Floats int64
}

// AnyNumber is [Requested].Floats of a feature with any number of floats.
const AnyNumber = -1

// Judge decides which records a parser of TensorFlow's may see. Only one goroutine
// at a time may use it.
type Judge struct {
	request  Request
	strings  bool     // a requested feature holds byte strings
	lists    bool     // one of an Example has any number of floats
	room     int64    // floats in the smallest requested feature of an Example
	features Features // memory for one record after the other
	runs     [5]int64 // see Doubts
}

// NewJudge returns a Judge for a parser.
func NewJudge(r Request) *Judge {
	r.Features = slices.Clone(r.Features)
	j := &Judge{request: r, room: math.MaxInt64}
	for _, f := range r.Features {
		switch {
		case f.Kind == Bytes:
			j.strings = true
		case f.Kind != Float || r.Sequence:
		case f.Floats == AnyNumber:
			j.lists = true
		default:
			j.room = min(j.room, f.Floats)
		}
	}
	return j
}

// Doubts reports whether a parser might end the process over a record. It looks
// at bytes and not at structure.
//
// A length of 2^28 or more is a varint of five bytes: four with the high bit,
// then one with some of its low four bits. One of 2^21 or more has four bytes.
// TensorFlow stores as much only for byte strings and for any number of floats.
//
// Unpacked floats take five bytes each, the first of them the tag 0x0d, so a
// list that is too long shows as a run of such bytes, each five behind the last.
// TensorFlow counts the floats of a SequenceExample before it stores them.
func (j *Judge) Doubts(record []byte) bool {
	if j.request.Whole {
		return true
	}
	j.runs = [5]int64{} // of tags, by their place modulo five
	high := 0           // bytes with the high bit before this one
	for i, b := range record {
		run := &j.runs[i%5]
		if b == tagFixed321 {
			*run++
		} else {
			*run = 0
		}
		if *run > j.room || j.strings && high >= 4 && b&0x0f != 0 || j.lists && high >= 3 && b&0x7f != 0 {
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

// Check returns an error if TensorFlow must not parse a record. It leaves other
// faults to TensorFlow. The error has a feature but no other place.
//
// Go parses first, since it passes over long lists of floats at once: a look at
// every byte takes longer.
func (j *Judge) Check(record []byte) error {
	err := j.parse(record)
	if err != nil && !j.Doubts(record) {
		return nil
	}
	return err
}

// parse returns an error unless Go can parse a record and its requested features are
// harmless.
func (j *Judge) parse(record []byte) error {
	if j.request.Sequence {
		s, err := ParseSequence(record)
		if err != nil {
			return err
		}
		return s.checkAll()
	}
	if err := j.features.Reset(record); err != nil {
		return err
	}
	if j.request.Whole && len(j.request.Features) == 0 {
		return j.features.checkAll((*Features).checkPacked)
	}
	for _, f := range j.request.Features {
		if err := j.checkFeature(f); err != nil {
			return err
		}
	}
	return nil
}

// SetKey names a requested feature whose key was not known before. The key has to
// stay as it is until the last Check that uses it.
func (j *Judge) SetKey(i int, key string) { j.request.Features[i].Key = key }

// Raw returns a feature of the Example that Check took last after it parsed it.
func (j *Judge) Raw(key string) (Raw, error) { return j.features.Raw(key) }

// checkFeature judges a feature of an Example. A parser may write values before it
// finds a fault behind them, so that a feature has to be whole.
func (j *Judge) checkFeature(f Requested) error {
	if f.Kind == Int64 {
		return nil
	}
	raw, err := j.Raw(f.Key)
	if e, ok := err.(*millrace.Error); ok {
		e.Feature = strings.Clone(f.Key)
		return e
	}
	if f.Kind == Float && f.Floats != AnyNumber && raw.Kind() == Float && !raw.Packed() && int64(raw.Len()) > f.Floats {
		e := millrace.Errorf(millrace.ErrSchema, "%d floats that are not packed, want %d", raw.Len(), f.Floats)
		e.Feature = strings.Clone(f.Key)
		return e
	}
	return nil
}

// checkPacked checks the feature of an entry, and refuses floats that are not
// packed.
func (f *Features) checkPacked(i int) error {
	raw, err := f.readAt(i)
	if err == nil && raw.Kind() == Float && !raw.Packed() && raw.Len() > 0 {
		return inFeature(millrace.Errorf(millrace.ErrSchema, "%d floats that are not packed", raw.Len()), string(f.name(i)))
	}
	return err
}

// checkAll checks every entry: those that count, and that the others give way to
// them.
func (f *Features) checkAll(check func(f *Features, i int) error) error {
	_, last := f.index()
	for i := range f.entries {
		name := string(f.name(i))
		err := error(nil)
		if l := last[name]; l == i {
			err = check(f, i)
		} else {
			err = inFeature(f.hides(l, i), name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkAll checks every feature of the context and every feature list, those that
// nobody requested too.
func (s *SequenceExample) checkAll() error {
	err := s.Context.checkAll(func(f *Features, i int) error {
		_, err := f.readAt(i)
		return err
	})
	if err != nil {
		return err
	}
	names, last := s.lists.index()
	for _, name := range names {
		if _, err := s.list(last[name]); err != nil {
			return err
		}
	}
	return nil
}
