package example_test

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord/example"
)

// fromProto converts a message that protobuf parsed.
func fromProto(f *tfproto.Features) map[string]example.Feature {
	m := make(map[string]example.Feature)
	for name, v := range f.GetFeature() {
		m[name] = featureFromProto(v)
	}
	return m
}

func featureFromProto(v *tfproto.Feature) example.Feature {
	switch k := v.GetKind().(type) {
	case *tfproto.Feature_BytesList:
		return example.Feature{Kind: example.Bytes, Bytes: k.BytesList.GetValue()}
	case *tfproto.Feature_FloatList:
		return example.Feature{Kind: example.Float, Floats: k.FloatList.GetValue()}
	case *tfproto.Feature_Int64List:
		return example.Feature{Kind: example.Int64, Ints: k.Int64List.GetValue()}
	}
	return example.Feature{}
}

// askable reports whether protobuf is a valid oracle for a record. Unlike TensorFlow,
// it refuses names that are not UTF-8, and parses features that are hidden by later
// ones with the same name.
func askable(names []string, count func(string) int) bool {
	for _, n := range names {
		if !utf8.ValidString(n) || count(n) > 1 {
			return false
		}
	}
	return true
}

// seeds are records to start fuzzing from.
func seeds(f *testing.F) {
	i, s := ints("i", 1, -1), example.Named{Name: "s", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{{0xff}, nil}}}
	v := example.Named{Name: "v", Feature: example.Feature{Kind: example.Float, Floats: []float32{1, -0.5}}}
	f.Add([]byte{})
	f.Add(corrupt.Example(3))
	f.Add(example.Marshal([]example.Named{i, s, v, {Name: "none"}}))
	f.Add(example.Marshal([]example.Named{i, i}))
	f.Add(example.MarshalSequence([]example.Named{i}, []example.NamedList{
		{Name: "l", Features: []example.Feature{i.Feature, {}, i.Feature}}, {Name: "m", Features: []example.Feature{s.Feature}}, {Name: "none"},
	}))
	f.Add([]byte("\x0a\x11\x0a\x0f\x0a\x01f\x12\x0a\x12\x08\x0d\x00\x00\x80\x3f\x18\x01"))
	f.Add([]byte("\x0a\x10\x0a\x0e\x0a\x01a\x12\x09\x1a\x07\x08\x01\x08\xac\x02\x08\x00"))
	f.Add([]byte("\x23\x24\x18\x07"))
	f.Add([]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"))
}

// FuzzParse compares with protobuf: it must accept every record that this package
// accepts, with the same values.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, record []byte) {
		example.Sniff(record)
		features, err := example.Parse(record)
		if err != nil {
			return
		}
		got, err := features.Decode()
		if err != nil || !askable(features.Names(), features.Count) {
			return
		}
		var p tfproto.Example
		if err := proto.Unmarshal(record, &p); err != nil {
			t.Fatalf("accepted, but protobuf says %v", err)
		}
		if diff := cmp.Diff(fromProto(p.GetFeatures()), byName(got), sameBits); diff != "" {
			t.Errorf("(-protobuf +got)\n%s", diff)
		}
		if diff := cmp.Diff(byName(got), byName(decode(t, example.Marshal(got))), sameBits); diff != "" {
			t.Errorf("written and read again (-want +got)\n%s", diff)
		}
	})
}

// FuzzParseSequence does the same with SequenceExamples.
func FuzzParseSequence(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, record []byte) {
		s, err := example.ParseSequence(record)
		if err != nil {
			return
		}
		context, err := s.Context.Decode()
		if err != nil {
			return
		}
		lists, err := s.DecodeLists()
		if err != nil || !askable(s.Context.Names(), s.Context.Count) || !askable(s.ListNames(), s.CountLists) {
			return
		}
		compareSequence(t, record, context, lists)
		compareSequence(t, example.MarshalSequence(context, lists), context, lists)
	})
}

func compareSequence(t *testing.T, record []byte, context []example.Named, lists []example.NamedList) {
	t.Helper()
	var p tfproto.SequenceExample
	if err := proto.Unmarshal(record, &p); err != nil {
		t.Fatalf("accepted, but protobuf says %v", err)
	}
	if diff := cmp.Diff(fromProto(p.GetContext()), byName(context), sameBits); diff != "" {
		t.Errorf("context (-protobuf +got)\n%s", diff)
	}
	want := make(map[string][]example.Feature)
	for name, l := range p.GetFeatureLists().GetFeatureList() {
		want[name] = nil
		for _, v := range l.GetFeature() {
			want[name] = append(want[name], featureFromProto(v))
		}
	}
	got := make(map[string][]example.Feature)
	for _, l := range lists {
		got[l.Name] = l.Features
	}
	if diff := cmp.Diff(want, got, sameBits); diff != "" {
		t.Errorf("lists (-protobuf +got)\n%s", diff)
	}
}

// BenchmarkParse reads an Example of 64 floats and an int, as the check of every record
// does.
func BenchmarkParse(b *testing.B) {
	record := example.Marshal([]example.Named{
		{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: make([]float32, 64)}}, ints("y", 1),
	})
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	var f example.Features
	for b.Loop() {
		if err := f.Reset(record); err != nil {
			b.Fatal(err)
		}
		x, err := f.Raw("x")
		if err != nil || x.Len() != 64 {
			b.Fatal(x, err)
		}
		if y, err := f.Raw("y"); err != nil || y.Len() != 1 {
			b.Fatal(y, err)
		}
	}
}
