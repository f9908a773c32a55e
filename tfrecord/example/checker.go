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
//   - one with a byte string that claims 2^31 bytes or more, where the parser requests
//     a feature of byte strings;
//   - an Example with more unpacked floats than fit the parser's shape,
//     which it writes anyway;
//   - an Example whose packed list claims up to 4 GiB of floats, where any number of
//     them is requested: the parser allocates that memory before it checks whether they
//     exist, up to 64 times for one batch;
//   - a SequenceExample with a byte string that ends after its list, where a sparse
//     feature of byte strings is requested: the parser counts -1 values, and writes
//     as many indices as the unsigned value of -1.
//
// A record that Go can parse, and in which no requested feature is one of these, is
// accepted. But Go's parser alone is not sufficient: it is stricter than TensorFlow's,
// which continues where Go stops. Such a record is checked by its bytes, wherever they
// are, see [Checker.Doubts]. That rule is fuzzed: MayEndProcess in cgo/fuzz/oracle.cc
// implements it too, and `make fuzz-decoder` passes millions of damaged records that it
// considers harmless to TensorFlow. The rule is not sufficient alone either: it also
// rejects sound records, in which a negative integer is a varint with nine high bits.
// And the last of the four cases cannot be recognized by bytes, so Go has to parse
// every record.

// Request describes the features that one of TensorFlow's parsers requests from
// records.
type Request struct {
	Sequence bool // the records are SequenceExamples

	// Whole accepts only records that Go can parse. Without Features it accepts only
	// records that are harmless to every parser, whatever it requests.
	Whole bool

	Features []Requested
}

// Requested is a feature that a parser requests. For a SequenceExample only the kind is
// used.
type Requested struct {
	Key  string
	Kind Kind
	// Floats is the number of floats in the parser's shape, AnyNumber if any number of
	// them is requested.
	Floats int64
}

// AnyNumber is [Requested].Floats of a feature with any number of floats.
const AnyNumber = -1

// Checker decides which records a parser of TensorFlow may read. Only one goroutine at a
// time may use it.
type Checker struct {
	request  Request
	strings  bool     // a requested feature has byte strings
	lists    bool     // a requested feature of an Example has any number of floats
	room     int64    // floats in the smallest requested feature of an Example
	features Features // reused for each record
	runs     [5]int64 // see Doubts
}

// NewChecker returns a Checker for a parser.
func NewChecker(r Request) *Checker {
	r.Features = slices.Clone(r.Features)
	j := &Checker{request: r, room: math.MaxInt64}
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

// Doubts reports whether a record might make a parser end the process. It looks at
// bytes instead of structure.
//
// A length of 2^28 or more is a varint of five bytes: four with the high bit, then one
// with some of its low four bits. A length of 2^21 or more has four bytes. TensorFlow
// allocates that much only for byte strings and for any number of floats.
//
// Unpacked floats take five bytes each, the first of them the tag 0x0d, so a list that
// is too long appears as a run of such bytes at intervals of five. TensorFlow counts
// the floats of a SequenceExample before it stores them.
func (j *Checker) Doubts(record []byte) bool {
	if j.request.Whole {
		return true
	}
	j.runs = [5]int64{} // runs of tags, by their position modulo five
	high := 0           // number of preceding bytes with the high bit
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

// Check returns an error if TensorFlow must not parse a record. It leaves other faults
// to TensorFlow. The error has a feature but no other location.
//
// Go parses first, because it skips long lists of floats at once: reading every byte
// takes longer.
func (j *Checker) Check(record []byte) error {
	err := j.parse(record)
	if err != nil && !j.Doubts(record) {
		return nil
	}
	return err
}

func (j *Checker) parse(record []byte) error {
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

// SetKey sets the key of a requested feature. The key must not change until the last
// Check that uses it.
func (j *Checker) SetKey(i int, key string) { j.request.Features[i].Key = key }

// Raw returns a feature of the last Example that Check parsed and accepted.
func (j *Checker) Raw(key string) (Raw, error) { return j.features.Raw(key) }

// checkFeature checks a feature of an Example. A parser may write values before it
// finds a later fault, so the whole feature must be valid.
func (j *Checker) checkFeature(f Requested) error {
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

// checkAll checks every entry: the valid ones, and that they replace the others.
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

// checkAll checks every feature of the context and every feature list, including those
// that are not requested.
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
