package inspect

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"millrace"
	"millrace/tfrecord/example"
)

// maxFeatures is the maximum number of features of a dataset, as in a manifest.
const maxFeatures = 65536

// Feature describes the values that all records hold under one name.
type Feature struct {
	Name    string   `json:"name"`
	List    bool     `json:"list"`             // a feature list of SequenceExamples
	Kinds   []string `json:"kinds"`            // "int", "float", "bytes"; more than one if records disagree
	Records int64    `json:"records"`          // number of records that have it
	Steps   *Range   `json:"steps,omitempty"`  // range of the number of steps of a feature list
	Values  Range    `json:"values"`           // the number of values in a record, or in each step of a feature list
	Ints    *Range   `json:"ints,omitempty"`   // the range of the integers
	Floats  *Floats  `json:"floats,omitempty"` // the range of the floats
	Bytes   *Range   `json:"bytes,omitempty"`  // the range of the byte strings' lengths
	Text    bool     `json:"text,omitempty"`   // every byte string is UTF-8 without control characters

	kinds [4]int64 // number of records by example.Kind
	seen  bool     // Values has been set
}

// Range holds the smallest and the largest of some integers.
type Range struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Floats is the range of some floats.
type Floats struct {
	Min    float32 `json:"min"` // the smallest of the finite values
	Max    float32 `json:"max"`
	Finite int64   `json:"finite"`
	NaNs   int64   `json:"nans"`
	Infs   int64   `json:"infinities"`
}

// include widens a range so that it includes v. The range is nil before the
// first value.
func include(r *Range, v int64) *Range {
	if r == nil {
		return &Range{v, v}
	}
	r.Min, r.Max = min(r.Min, v), max(r.Max, v)
	return r
}

// stats collects the statistics of features.
type stats struct {
	records  int64
	sequence bool
	features map[featureKey]*Feature
}

type featureKey struct {
	name string
	list bool
}

func newStats() *stats { return &stats{features: map[featureKey]*Feature{}} }

// at returns the statistics of a feature, new or not.
func (s *stats) at(name string, list bool) (*Feature, error) {
	key := featureKey{name, list}
	if f := s.features[key]; f != nil {
		return f, nil
	}
	if len(s.features) == maxFeatures {
		return nil, millrace.Errorf(millrace.ErrLimit, "more than %d features: does the dataset store data in the names of features?", maxFeatures)
	}
	f := &Feature{Name: name, List: list, Text: true}
	s.features[key] = f
	return f, nil
}

// add adds a record.
func (s *stats) add(context []example.Named, lists []example.NamedList) error {
	s.records++
	for _, n := range context {
		f, err := s.at(n.Name, false)
		if err != nil {
			return err
		}
		if n.Feature.Kind != example.None { // a feature without a list of values counts as missing
			f.Records++
			f.add(n.Feature)
		}
	}
	for _, l := range lists {
		s.sequence = true
		f, err := s.at(l.Name, true)
		if err != nil {
			return err
		}
		f.Records++
		f.Steps = include(f.Steps, int64(len(l.Features)))
		for _, one := range l.Features {
			f.add(one)
		}
	}
	return nil
}

// add adds the values of one record, or one feature of a list.
func (f *Feature) add(v example.Feature) {
	f.kinds[v.Kind]++
	f.count(Range{int64(v.Len()), int64(v.Len())})
	for _, n := range v.Ints {
		f.Ints = include(f.Ints, n)
	}
	if len(v.Floats) > 0 && f.Floats == nil {
		f.Floats = &Floats{}
	}
	for _, x := range v.Floats {
		f.Floats.add(x)
	}
	for _, b := range v.Bytes {
		f.Bytes = include(f.Bytes, int64(len(b)))
		f.Text = f.Text && isText(b)
	}
}

// count widens the range of the number of values.
func (f *Feature) count(n Range) {
	if !f.seen {
		f.Values, f.seen = n, true
		return
	}
	f.Values = Range{min(f.Values.Min, n.Min), max(f.Values.Max, n.Max)}
}

func (f *Floats) add(x float32) {
	switch {
	case x != x:
		f.NaNs++
		return
	case math.IsInf(float64(x), 0):
		f.Infs++
		return
	case f.Finite == 0:
		f.Min, f.Max = x, x
	}
	f.Min, f.Max = min(f.Min, x), max(f.Max, x)
	f.Finite++
}

// isText reports whether b is UTF-8 without control characters.
func isText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			return false
		}
		b = b[n:]
	}
	return true
}

// merge adds the statistics of another file.
func (s *stats) merge(o *stats) error {
	s.records += o.records
	s.sequence = s.sequence || o.sequence
	for key, g := range o.features {
		f, err := s.at(key.name, key.list)
		if err != nil {
			return err
		}
		f.merge(g)
	}
	return nil
}

func (f *Feature) merge(g *Feature) {
	f.Records += g.Records
	for k, n := range g.kinds {
		f.kinds[k] += n
	}
	if g.seen {
		f.count(g.Values)
	}
	f.Text = f.Text && g.Text
	f.Steps, f.Ints, f.Bytes = join(f.Steps, g.Steps), join(f.Ints, g.Ints), join(f.Bytes, g.Bytes)
	if g.Floats == nil {
		return
	}
	if f.Floats == nil {
		f.Floats = &Floats{Min: g.Floats.Min, Max: g.Floats.Max}
	}
	if g.Floats.Finite > 0 && f.Floats.Finite == 0 {
		f.Floats.Min, f.Floats.Max = g.Floats.Min, g.Floats.Max
	} else if g.Floats.Finite > 0 {
		f.Floats.Min, f.Floats.Max = min(f.Floats.Min, g.Floats.Min), max(f.Floats.Max, g.Floats.Max)
	}
	f.Floats.Finite += g.Floats.Finite
	f.Floats.NaNs += g.Floats.NaNs
	f.Floats.Infs += g.Floats.Infs
}

// join returns the smallest range that includes a and b, which may be nil.
func join(a, b *Range) *Range {
	if b == nil {
		return a
	}
	return include(include(a, b.Min), b.Max)
}

// kindNames are the manifest's words for the lists of an Example. A manifest has no
// word for bytes, which are strings or raw tensors.
var kindNames = [4]string{example.Int64: "int", example.Float: "float", example.Bytes: "bytes"}

// sorted completes the statistics and returns the features, context features
// first.
func (s *stats) sorted() []*Feature {
	list := make([]*Feature, 0, len(s.features))
	for _, f := range s.features {
		f.Kinds = []string{}
		for k, name := range kindNames {
			if f.kinds[k] > 0 && name != "" {
				f.Kinds = append(f.Kinds, name)
			}
		}
		f.Text = f.Text && f.Bytes != nil
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *Feature) int {
		if a.List != b.List {
			if a.List {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return list
}
