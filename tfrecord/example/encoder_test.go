package example_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/tfrecord/example"
)

func ExampleNewEncoder() {
	type Song struct {
		Title  string    `example:"title"`
		Genre  int32     `example:"genre"`
		Volume []float32 `example:"volume"`
		Path   string    `example:"-"`
	}
	e, err := example.NewEncoder[Song]()
	if err != nil {
		log.Fatal(err)
	}
	record := e.Append(nil, &Song{Title: "Nana", Genre: 3, Volume: []float32{0.5, 1}})
	features, err := example.Parse(record)
	if err != nil {
		log.Fatal(err)
	}
	volume, err := features.Get("volume")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(features.Names(), volume.Floats)
	// Output: [title genre volume] [0.5 1]
}

func ExampleBuilder() {
	var b example.Builder
	for _, word := range []string{"to", "be"} {
		b.Reset()
		b.Strings("word", word)
		b.Ints("length", int64(len(word)))
		fmt.Println(len(b.Record()))
	}
	// Output:
	// 35
	// 35
}

type everything struct {
	Bool    bool
	Int     int
	Int8    int8           `example:"i8"`
	Uint64  uint64         `example:"u64"`
	Matrix  [2][3]int16    `example:"matrix"`
	Doubles []float64      `example:"doubles"`
	Pairs   [][2]float32   `example:"pairs"`
	Text    string         `example:"text"`
	Bytes   []byte         `example:"bytes"`
	Words   []string       `example:"words"`
	Blobs   [2][]byte      `example:"blobs"`
	Flags   []bool         `example:"flags"`
	Raw     [2][2]uint16   `example:"raw,raw"`
	Long    [200]float32   `example:"long"`
	Empty   []int64        `example:"empty"`
	Skipped map[string]int `example:"-"`
	hidden  int
}

func value() *everything {
	v := &everything{
		Bool: true, Int: -1, Int8: -128, Uint64: 1<<64 - 1, Matrix: [2][3]int16{{1, 2, 3}, {-4, 5, 6}}, Doubles: []float64{0.5, -2},
		Pairs: [][2]float32{{1, 2}, {3, 4}, {5, 6}}, Text: "süß", Bytes: []byte{0, 255}, Words: []string{"", "a"},
		Blobs: [2][]byte{{1}, {2, 3}}, Flags: []bool{true, false}, Raw: [2][2]uint16{{1, 2}, {3, 256}}, hidden: 1,
	}
	for i := range v.Long {
		v.Long[i] = float32(i) / 3
	}
	return v
}

// TestEncoder compares a struct with the record as protobuf reads it.
func TestEncoder(t *testing.T) {
	e, err := example.NewEncoder[everything]()
	if err != nil {
		t.Fatal(err)
	}
	v := value()
	var p tfproto.Example
	if err := proto.Unmarshal(e.Append(nil, v), &p); err != nil {
		t.Fatal(err)
	}
	ints := func(values ...int64) example.Feature { return example.Feature{Kind: example.Int64, Ints: values} }
	floats := func(values ...float32) example.Feature {
		return example.Feature{Kind: example.Float, Floats: values}
	}
	texts := func(values ...string) example.Feature {
		f := example.Feature{Kind: example.Bytes}
		for _, s := range values {
			f.Bytes = append(f.Bytes, []byte(s))
		}
		return f
	}
	want := map[string]example.Feature{
		"Bool": ints(1), "Int": ints(-1), "i8": ints(-128), "u64": ints(-1), "matrix": ints(1, 2, 3, -4, 5, 6),
		"doubles": floats(0.5, -2), "pairs": floats(1, 2, 3, 4, 5, 6), "text": texts("süß"), "bytes": texts("\x00\xff"),
		"words": texts("", "a"), "blobs": texts("\x01", "\x02\x03"), "flags": ints(1, 0),
		"raw": texts("\x01\x00\x02\x00\x03\x00\x00\x01"), "long": floats(v.Long[:]...), "empty": ints(),
	}
	if example.NativeEndian() == "big" {
		delete(want, "raw")
		delete(p.Features.Feature, "raw")
	}
	if diff := cmp.Diff(want, fromProto(p.GetFeatures()), sameBits); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestEncoderSpecs describes fields, for the manifest of a dataset.
func TestEncoderSpecs(t *testing.T) {
	e, err := example.NewEncoder[everything]()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, s := range e.Specs() {
		got[s.Name] = fmt.Sprint(s.Kind, " ", s.DType, " ", s.Shape, " ", s.Raw)
	}
	want := map[string]string{
		"Bool": "int64 bool [] false", "Int": "int64 int64 [] false", "i8": "int64 int8 [] false", "u64": "int64 uint64 [] false",
		"matrix": "int64 int16 [2 3] false", "doubles": "float float32 [-1] false", "pairs": "float float32 [-1 2] false",
		"text": "bytes string [] false", "bytes": "bytes string [] false", "words": "bytes string [-1] false",
		"blobs": "bytes string [2] false", "flags": "int64 bool [-1] false", "raw": "bytes uint16 [2 2] true",
		"long": "float float32 [200] false", "empty": "int64 int64 [-1] false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestSequenceEncoder writes fields as feature lists; a builder writes the same bytes.
func TestSequenceEncoder(t *testing.T) {
	type utterance struct {
		Speaker string       `example:"speaker"`
		Frames  [][2]float32 `example:"frames,list"`
		Words   []string     `example:"words,list"`
		Ids     [][]int64    `example:"ids,list"`
	}
	e, err := example.NewEncoder[utterance]()
	if err != nil {
		t.Fatal(err)
	}
	u := &utterance{Speaker: "a", Frames: [][2]float32{{1, 2}, {3, 4}}, Words: []string{"to", "be"}, Ids: [][]int64{{1}, nil, {300, -1}}}
	got := e.Append(nil, u)
	var b example.SequenceBuilder
	for range 2 {
		b.Reset()
		b.Strings("speaker", "a")
		b.FloatLists("frames", []float32{1, 2}, []float32{3, 4})
		b.StringLists("words", []string{"to"}, []string{"be"})
		b.IntLists("ids", u.Ids...)
		if want := b.Record(); !bytes.Equal(got, want) {
			t.Errorf("got  %x\nwant %x", got, want)
		}
	}
	s, err := example.ParseSequence(got)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := s.DecodeLists()
	if err != nil {
		t.Fatal(err)
	}
	if names := s.ListNames(); !cmp.Equal(names, []string{"frames", "words", "ids"}) || !e.Sequence() {
		t.Errorf("lists %q, sequence %v", names, e.Sequence())
	}
	if diff := cmp.Diff([]int64{300, -1}, lists[2].Features[2].Ints); diff != "" || string(lists[1].Features[1].Bytes[0]) != "be" {
		t.Errorf("%s\n%+v", diff, lists)
	}
	if spec := e.Specs()[3]; !spec.List || spec.DType != dtype.Int64 || !cmp.Equal(spec.Shape, []int64{-1}) {
		t.Errorf("ids: %+v", spec)
	}
}

// TestEncoderRefuses checks that errors name the field and the types that a feature can
// store.
func TestEncoderRefuses(t *testing.T) {
	refused := func(_ any, err error) string {
		t.Helper()
		if err == nil {
			t.Error("no error")
			return ""
		}
		return err.Error()
	}
	type inner struct{ A int }
	for _, tt := range []struct{ got, want string }{
		{refused(example.NewEncoder[int]()), "int is none"},
		{refused(example.NewEncoder[struct{ A inner }]()), "field A of struct"},
		{refused(example.NewEncoder[struct{ A map[string]int }]()), "a feature cannot hold a map[string]int"},
		{refused(example.NewEncoder[struct{ A [][]int }]()), "a feature cannot hold a [][]int"},
		{refused(example.NewEncoder[struct {
			A int `example:"a,lsit"`
		}]()), `the option "lsit"; there are list and raw`},
		{refused(example.NewEncoder[struct {
			A int `example:"a,list"`
		}]()), "no slice"},
		{refused(example.NewEncoder[struct {
			A []int32 `example:"a,raw"`
		}]()), "no array of numbers"},
		{refused(example.NewEncoder[struct {
			A int
			B int `example:"A"`
		}]()), "field A has the same name"},
		{refused(example.NewEncoder[struct{ a int }]()), "no field to write"},
		{refused(example.NewEncoder[struct{ A [0]int }]()), "holds no values"},
	} {
		if !strings.Contains(tt.got, tt.want) {
			t.Errorf("got %q, want %q in it", tt.got, tt.want)
		}
	}
}

// TestMarshalMap writes values of every type.
func TestMarshalMap(t *testing.T) {
	record, err := example.MarshalMap(map[string]any{"b": []byte("x"), "a": 7, "c": []float64{0.5}, "d": []string{"u", "v"}, "e": true, "f": uint16(3)})
	if err != nil {
		t.Fatal(err)
	}
	want := []example.Named{
		ints("a", 7), {Name: "b", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte("x")}}},
		{Name: "c", Feature: example.Feature{Kind: example.Float, Floats: []float32{0.5}}},
		{Name: "d", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte("u"), []byte("v")}}}, ints("e", 1), ints("f", 3),
	}
	if diff := cmp.Diff(want, decode(t, record), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := example.MarshalMap(map[string]any{"a": 1i}); err == nil || !strings.Contains(err.Error(), "cannot hold a complex128") {
		t.Errorf("got %v", err)
	}
}

// TestWritingAllocatesNothing checks that writing many records makes no garbage.
func TestWritingAllocatesNothing(t *testing.T) {
	e, err := example.NewEncoder[everything]()
	if err != nil {
		t.Fatal(err)
	}
	v := value()
	buf := e.Append(nil, v)
	var b example.Builder
	build := func() {
		b.Reset()
		b.Ints("label", 7)
		b.Floats("values", v.Long[:]...)
		b.Record()
	}
	build()
	for name, write := range map[string]func(){"Encoder": func() { buf = e.Append(buf[:0], v) }, "Builder": build} {
		if n := testing.AllocsPerRun(20, write); n > 0 {
			t.Errorf("%s: %v allocations for a record", name, n)
		}
	}
}
