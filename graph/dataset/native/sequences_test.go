package native_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// listFeatures are a feature of every kind in the context and as a list, in the order
// of TensorFlow's parser: the context first, then by key.
func listFeatures() []native.Feature {
	return []native.Feature{
		{Key: "cf", Kind: native.Float, Shape: []int64{2}},
		{Key: "ci", Kind: native.Int},
		{Key: "cr", Kind: native.Raw, DType: tfbridge.Int16, Shape: []int64{2, 2}, Strings: 2, BigEndian: true},
		{Key: "cs", Kind: native.Bytes},
		{Key: "lf", Kind: native.Float, Shape: []int64{3}, List: true},
		{Key: "li", Kind: native.Int, List: true},
		{Key: "lr", Kind: native.Raw, DType: tfbridge.Int32, Shape: []int64{1, 2}, List: true, BigEndian: true},
		{Key: "ls", Kind: native.Bytes, Shape: []int64{2}, List: true},
	}
}

// listRecord is a SequenceExample with those features, others between them,
// and lists of several lengths.
func listRecord(r *rand.Rand) []byte {
	text := func(n int) []byte { return bytes.Repeat([]byte{'a' + byte(r.IntN(26))}, n) }
	texts := func(b ...[]byte) example.Feature { return example.Feature{Kind: example.Bytes, Bytes: b} }
	ints := func(v ...int64) example.Feature { return example.Feature{Kind: example.Int64, Ints: v} }
	floats := func(v ...float32) example.Feature { return example.Feature{Kind: example.Float, Floats: v} }
	list := func(name string, one func() example.Feature) example.NamedList {
		l := example.NamedList{Name: name}
		for range r.IntN(5) {
			l.Features = append(l.Features, one())
		}
		return l
	}
	context := []example.Named{
		{Name: "cf", Feature: floats(r.Float32(), r.Float32())}, {Name: "ci", Feature: ints(r.Int64N(100))},
		{Name: "cr", Feature: texts(text(4), text(4))}, {Name: "cs", Feature: texts(text(r.IntN(40)))}, {Name: "other", Feature: ints(1, 2)},
	}
	lists := []example.NamedList{
		list("lf", func() example.Feature { return floats(r.Float32(), 0, r.Float32()) }),
		list("li", func() example.Feature { return ints(r.Int64N(1000) - 500) }),
		list("lr", func() example.Feature { return texts(text(8)) }),
		list("ls", func() example.Feature { return texts(text(r.IntN(3)), text(r.IntN(30))) }),
		list("other", func() example.Feature { return ints() }),
	}
	r.Shuffle(len(context), func(i, j int) { context[i], context[j] = context[j], context[i] })
	r.Shuffle(len(lists), func(i, j int) { lists[i], lists[j] = lists[j], lists[i] })
	return example.MarshalSequence(context, lists)
}

// listFiles writes files with the given numbers of SequenceExamples.
func listFiles(t testing.TB, counts ...int64) (names []string) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range counts {
		var records [][]byte
		for range n {
			records = append(records, listRecord(r))
		}
		names = append(names, writeFile(t, corrupt.Frame(records...)))
	}
	return names
}

// generalLists parses batches with TensorFlow's operations: the context, the
// lists and their lengths. Raw features stay strings.
func generalLists(s *graph.Scope, serialized out) []out {
	wanted := &graph.SequenceFeatures{}
	for _, f := range listFeatures() {
		dtype, shape := tfbridge.String, tfbridge.MakeShape(f.Shape...)
		switch {
		case f.Kind == native.Int:
			dtype = tfbridge.Int64
		case f.Kind == native.Float:
			dtype = tfbridge.Float
		case f.Kind == native.Raw && f.Strings > 1:
			shape = tfbridge.MakeShape(f.Strings)
		case f.Kind == native.Raw:
			shape = tfbridge.ScalarShape()
		}
		if f.List {
			wanted.Lists = append(wanted.Lists, graph.ListFeature{Key: f.Key, DType: dtype, Shape: shape})
		} else {
			wanted.Context.Dense = append(wanted.Context.Dense, graph.DenseFeature{Key: f.Key, DType: dtype, Shape: shape})
		}
	}
	p := graph.ParseSequenceExampleV2(s, serialized, wanted)
	return append(append(p.Context.Dense, p.Lists...), p.Lengths...)
}

// decodeLists decodes the raw features of generalLists, whose strings all have the
// right length. A shorter list is padded with zeros.
func decodeLists(s *graph.Scope, parsed []out) []out {
	for i, f := range listFeatures() {
		if f.Kind != native.Raw {
			continue
		}
		x, shape := parsed[i], graph.Shape(s, parsed[i])
		if f.List {
			full := graph.Equal(s, x, s.Const(""))
			x = graph.Select(s, full, graph.Fill(s, shape, s.Const(string(make([]byte, 8)))), x)
		}
		flat := graph.DecodeRaw(s, x, f.DType, &graph.DecodeRawOptions{BigEndian: f.BigEndian})
		if f.List {
			shape = graph.ConcatV2(s, outs{shape, s.Const(f.Shape)}, 0)
		} else {
			shape = graph.ConcatV2(s, outs{graph.Subscript(s, shape, graph.Until(1)), s.Const(f.Shape)}, 0)
		}
		parsed[i] = graph.Reshape(s, flat, shape)
	}
	return parsed
}

// zeros is the padding that TensorFlow uses for lists of a type.
func zeros(s *graph.Scope, dtype tfbridge.DataType) out {
	if dtype == tfbridge.String {
		return s.Const("")
	}
	return graph.Cast(s, s.Const(int64(0)), dtype)
}

// paddedLists requests the same components as generalLists returns.
func paddedLists(s *graph.Scope) *native.Sequence {
	q := &native.Sequence{Features: listFeatures()}
	var lengths []native.Component
	for i, f := range q.Features {
		c := native.Component{Feature: i, Part: native.Values, Size: -1}
		if f.List {
			lengths = append(lengths, native.Component{Feature: i, Part: native.Lengths, Size: -1})
			dtypes := map[native.Kind]tfbridge.DataType{
				native.Float: tfbridge.Float, native.Int: tfbridge.Int64, native.Bytes: tfbridge.String, native.Raw: f.DType,
			}
			c.Part, c.Fill = native.Padded, zeros(s, dtypes[f.Kind])
		}
		q.Components = append(q.Components, c)
	}
	q.Components = append(q.Components, lengths...)
	return q
}

// TestSequencesGiveTheSameBatches compares batches with those of
// TensorFlow's parser.
func TestSequencesGiveTheSameBatches(t *testing.T) {
	needLibrary(t)
	counts := []int64{5, 0, 13, 1}
	names := listFiles(t, counts...)
	for _, n := range []int64{1, 4, 100} {
		for _, drop := range []bool{false, true} {
			s := newScope(t)
			general := dataset.TFRecords(s, s.Const(names), nil).Repeat(2).Batch(n, drop).
				Map("parse", func(s *graph.Scope, args []out) []out { return decodeLists(s, generalLists(s, args[0])) }, nil)
			want, err := bits(t, general)
			if err != nil {
				t.Fatal(err)
			}
			o := &native.ExamplesOptions{BatchSize: n, Epochs: 2, Drop: drop}
			for way, d := range map[string]*dataset.Dataset{
				"files":  native.Sequences(s, s.Const(names), s.Const(counts), paddedLists(s), o),
				"parsed": native.ParseSequences(dataset.TFRecords(s, s.Const(names), nil).Repeat(2), n, paddedLists(s), &native.ParseOptions{Drop: drop}),
			} {
				got, err := bits(t, d)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, batches of %d, drop %v (-general +native)\n%s", way, n, drop, diff)
				}
			}
		}
	}
}

// TestSequenceParts requests every part of two lists.
func TestSequenceParts(t *testing.T) {
	needLibrary(t)
	var records [][]byte
	for _, n := range []int{2, 0, 3} {
		var ints, texts []example.Feature
		for i := range n {
			ints = append(ints, example.Feature{Kind: example.Int64, Ints: []int64{int64(i), int64(10 * n)}})
			texts = append(texts, example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(fmt.Sprint(n, i))}})
		}
		records = append(records, example.MarshalSequence(nil, []example.NamedList{{Name: "i", Features: ints}, {Name: "s", Features: texts}}))
	}
	s := newScope(t)
	q := &native.Sequence{Features: []native.Feature{
		{Key: "i", Kind: native.Int, Shape: []int64{2}, List: true}, {Key: "s", Kind: native.Bytes, List: true},
	}, Components: []native.Component{
		{Feature: 0, Part: native.Values, Size: -1}, {Feature: 0, Part: native.Splits, Size: -1},
		{Feature: 0, Part: native.Padded, Size: 4, Fill: s.Const(int64(-7))}, {Feature: 0, Part: native.Elements, Size: -1},
		{Feature: 1, Part: native.Padded, Size: -1, Fill: s.Const("pad")}, {Feature: 1, Part: native.Mask, Size: 4},
		{Feature: 1, Part: native.Values, Size: -1}, {Feature: 1, Part: native.Mask, Size: -1},
	}}
	names := s.Const([]string{writeFile(t, corrupt.Frame(records...))})
	got := all(t, native.Sequences(s, names, s.Const([]int64{3}), q, &native.ExamplesOptions{BatchSize: 3, Epochs: 1, Drop: true}))
	none := []int64{-7, -7}
	want := []any{[]any{
		[][]int64{{0, 20}, {1, 20}, {0, 30}, {1, 30}, {2, 30}}, []int64{0, 2, 2, 5},
		[][][]int64{{{0, 20}, {1, 20}, none, none}, {none, none, none, none}, {{0, 30}, {1, 30}, {2, 30}, none}}, []int64{4, 0, 6},
		[][]string{{"2 0", "2 1", "pad"}, {"pad", "pad", "pad"}, {"3 0", "3 1", "3 2"}},
		[][]bool{{true, true, false, false}, {false, false, false, false}, {true, true, true, false}},
		[]string{"2 0", "2 1", "3 0", "3 1", "3 2"}, [][]bool{{true, true, false}, {false, false, false}, {true, true, true}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	q.Components[2].Size = 2
	_, err := tryAll(t, native.Sequences(s, names, s.Const([]int64{3}), q, nil))
	if !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("padded to less: %v", err)
	}
}

// TestSequencesAgreeOnOddRecords mutates records: the native decoder
// accepts what TensorFlow's parser accepts, with the same values.
func TestSequencesAgreeOnOddRecords(t *testing.T) {
	needLibrary(t)
	const rounds = 1500
	s := newScope(t)
	record := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	general := generalLists(s, graph.ExpandDims(s, record, 0))
	q := paddedLists(s)
	for i, f := range q.Features { // strings are compared before they are decoded
		if f.Kind == native.Raw {
			q.Features[i] = native.Feature{Key: f.Key, Kind: native.Bytes, List: f.List}
			if f.Strings > 1 {
				q.Features[i].Shape = []int64{f.Strings}
			}
			if f.List {
				q.Components[i].Fill = s.Const("")
			}
		}
	}
	it := native.ParseSequences(dataset.FromTensors(s, record), 1, q, nil).Iterator("it")
	p := newParsers(t, s, record, general, it)
	r := rand.New(rand.NewPCG(7, 8))
	accepted := 0
	for range rounds {
		data := listRecord(r)
		if r.IntN(3) == 0 {
			data = append(data, listRecord(r)...)
		}
		data = mutated(r, data)
		want, got := p.parse(t, data)
		if want != nil {
			accepted++
			a, b := fmt.Sprintf("%q", valueOf(want)), fmt.Sprintf("%q", valueOf(got))
			if a != b {
				t.Fatalf("record %x:\nTensorFlow %s\nnative     %s", data, a, b)
			}
		}
		closeAll(want, got)
	}
	if accepted < rounds/20 || accepted > rounds*19/20 {
		t.Errorf("%d of %d records are accepted; the mutations test little", accepted, rounds)
	}
}

func TestSequenceIsChecked(t *testing.T) {
	needLibrary(t)
	list := []native.Feature{{Key: "i", Kind: native.Int, List: true}}
	context := []native.Feature{{Key: "i", Kind: native.Int}}
	values := []native.Component{{Part: native.Values, Size: -1}}
	for name, q := range map[string]*native.Sequence{
		"no such feature":      {Features: list, Components: []native.Component{{Feature: 1, Part: native.Values}}},
		"no feature list":      {Features: context, Components: []native.Component{{Part: native.Lengths}}},
		"no such part":         {Features: list, Components: []native.Component{{Part: "halves"}}},
		"a size out of range":  {Features: list, Components: []native.Component{{Part: native.Mask, Size: -2}}},
		"nothing to pad with":  {Features: list, Components: []native.Component{{Part: native.Padded, Size: -1}}},
		"a feature twice":      {Features: append(list, list...), Components: values},
		"without any features": {},
	} {
		s := newScope(t)
		if _, err := tryAll(t, native.ParseSequences(dataset.TFRecords(s, s.Const([]string{}), nil), 1, q, nil)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := newScope(t)
	native.Parse(dataset.TFRecords(s, s.Const([]string{}), nil), 1, list, nil)
	if s.Err() == nil {
		t.Error("Examples with feature lists: no error")
	}
}
