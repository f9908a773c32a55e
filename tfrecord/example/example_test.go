package example_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord/example"
)

func ExampleParse() {
	record := example.Marshal([]example.Named{
		{Name: "label", Feature: example.Feature{Kind: example.Int64, Ints: []int64{7}}},
		{Name: "pixels", Feature: example.Feature{Kind: example.Float, Floats: []float32{0, 0.5, 1}}},
	})
	features, err := example.Parse(record)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range features.Names() {
		f, err := features.Raw(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, f.Kind(), f.Len())
	}
	label, err := features.Get("label")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(label.Ints)
	// Output:
	// label int64 1
	// pixels float 3
	// [7]
}

func ExampleParseSequence() {
	word := func(s string) example.Feature {
		return example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(s)}}
	}
	record := example.MarshalSequence(
		[]example.Named{{Name: "lang", Feature: word("en")}},
		[]example.NamedList{{Name: "words", Features: []example.Feature{word("to"), word("be")}}},
	)
	s, err := example.ParseSequence(record)
	if err != nil {
		log.Fatal(err)
	}
	words, err := s.List("words")
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range words {
		fmt.Printf("%s ", w.Decode().Bytes[0])
	}
	fmt.Println(s.Context.Names(), example.Sniff(record))
	// Output: to be [lang] a SequenceExample
}

// TestFaults reads records that are not Examples (rows C20 and C26).
func TestFaults(t *testing.T) {
	entry := func(value string) string { // an Example with one feature "a"
		e := fmt.Sprintf("\x0a\x01a\x12%c%s", len(value), value)
		e = fmt.Sprintf("\x0a%c%s", len(e), e)
		return fmt.Sprintf("\x0a%c%s", len(e), e)
	}
	deep := strings.Repeat("\x23", 10_000) + strings.Repeat("\x24", 10_000)
	nested := ""
	for range 10_000 {
		nested = "\x0a" + string(varint(len(nested))) + nested
	}
	tests := []struct{ name, record, want string }{
		{"text", "hello", `not an Example (byte 2): a group or an unknown wire type (tag 0x6c); the record starts with "hello"`},
		{"JSON", "{}", `not an Example (byte 0): a group or an unknown wire type (tag 0x7b); the record starts with "{}"`},
		{"high bytes", "\xff\xfe hello", `not an Example (byte 0): a group or an unknown wire type (tag 0x83f7f)`},
		{"cut varint", "\x0a\x80", "not an Example (byte 1): a varint is cut off"},
		{"varint overflow", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "not an Example (byte 1): a varint exceeds 64 bits"},
		{"varint without end", "\x0a" + strings.Repeat("\x80", 100), "not an Example (byte 1): a varint exceeds 64 bits"},
		{"length beyond the end", "\x0a\x05\x0a", "not an Example (byte 1): a field claims 5 bytes, 1 remain"},
		{"length of 2^63", "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "not an Example (byte 1): a field claims 9223372036854775808 bytes, 0 remain"},
		{"field number 0", "\x00\x00", "not an Example (byte 0): field number 0"},
		{"wire type 7", "\x1f", "not an Example (byte 0): a group or an unknown wire type (tag 0x1f)"},
		{"group", "\x23\x24", "not an Example (byte 0): a group"},
		{"10,000 groups", deep, "not an Example (byte 0): a group"},
		{"10,000 messages", nested, "not an Example (byte 8): a feature without a name or value"},
		{"tag in two bytes", "\x8a\x00\x00", "not an Example (byte 0): a tag of 2 bytes"},
		{"unknown field among features", "\x0a\x02\x18\x01", "not an Example (byte 2): tag 0x18 where a feature begins"},
		{"no value", "\x0a\x05\x0a\x03\x0a\x01a", "not an Example (byte 4): a feature without a name or value"},
		{"two names", "\x0a\x08\x0a\x06\x0a\x01a\x0a\x01b", "not an Example (byte 7): a feature's name or value is given twice"},
		{"unknown kind", entry("\x22\x00"), `feature "a": not an Example (byte 9): tag 0x22 where a list`},
		{"two lists", entry("\x1a\x00\x1a\x00"), `feature "a": not an Example (byte 11): a second list`},
		{"half a float", entry("\x12\x05\x0a\x03\x00\x00\x00"), `feature "a": not an Example (byte 13): a packed list of floats has 3 bytes`},
		{"unpacked half a float", entry("\x12\x03\x0d\x00\x00"), `feature "a": not an Example (byte 12): a float of 4 bytes, 2 remain`},
		{"ints in a float list", entry("\x12\x02\x08\x01"), `feature "a": not an Example (byte 11): tag 0x08 where a float begins`},
		{"packed twice", entry("\x1a\x06\x0a\x01\x01\x0a\x01\x02"), `feature "a": not an Example (byte 14): 3 bytes after a packed list`},
		{"number in a bytes list", entry("\x0a\x02\x08\x01"), `feature "a": not an Example (byte 11): tag 0x08 where a byte string begins`},
		{"cut int", entry("\x1a\x03\x0a\x01\x80"), `feature "a": not an Example (byte 13): a varint is cut off`},
		{"bytes of 2^31, which end TensorFlow's process", entry("\x0a\x07\x0a\x80\x80\x80\x80\x08x"), `feature "a": not an Example (byte 12): a field claims 2147483648 bytes, 1 remain`},
		{"given again without a list", entry("\x1a\x00") + entry(""), "TensorFlow and protobuf differ"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := example.Parse([]byte(tt.record))
			if err == nil {
				_, err = f.Decode()
			}
			if !errors.Is(err, millrace.ErrCorrupt) || !strings.HasPrefix(err.Error(), tt.want) && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
			if err != nil && len(err.Error()) > 600 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
		})
	}
}

// TestSkipped reads records that contain more than an Example.
func TestSkipped(t *testing.T) {
	a := string(example.Marshal([]example.Named{ints("a", 1)}))
	tests := []struct {
		name, record string
		want         []example.Named
	}{
		{"nothing", "", nil},
		{"no features", "\x0a\x00", nil},
		{"unknown fields", "\x18\x07" + "\x21abcdefgh" + a + "\x2d1234" + "\x12\x02zz" + "\xc2\x0c\x01!", []example.Named{ints("a", 1)}},
		{"field 1 as a number", "\x08\x05" + a, []example.Named{ints("a", 1)}},
		{"concatenated", a + string(example.Marshal([]example.Named{ints("b", 2), ints("a", 3)})), []example.Named{ints("a", 3), ints("b", 2)}},
		{"unpacked", "\x0a\x10\x0a\x0e\x0a\x01a\x12\x09\x1a\x07\x08\x01\x08\xac\x02\x08\x00", []example.Named{ints("a", 1, 300, 0)}},
		{"value before name", "\x0a\x0c\x0a\x0a\x12\x05\x1a\x03\x0a\x01\x01\x0a\x01a", []example.Named{ints("a", 1)}},
		{"unknown field in a feature", "\x0a\x0e\x0a\x0c\x0a\x01a\x12\x07\x1a\x03\x0a\x01\x01\x20\x09", []example.Named{ints("a", 1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := example.Parse([]byte(tt.record))
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func ints(name string, values ...int64) example.Named {
	return example.Named{Name: name, Feature: example.Feature{Kind: example.Int64, Ints: values}}
}

func varint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// TestLazy requests one feature of a record in which another is damaged.
func TestLazy(t *testing.T) {
	record := corrupt.Example(5)
	record[bytes.Index(record, []byte("vals"))+6] = 0x22
	f, err := example.Parse(record)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := f.Get("id"); err != nil || len(id.Ints) != 1 || id.Ints[0] != 5 {
		t.Errorf("got %v, %v", id, err)
	}
	var e *millrace.Error
	if _, err := f.Get("vals"); !errors.As(err, &e) || e.Feature != "vals" {
		t.Errorf("got %v", err)
	}
	if none, err := f.Get("none"); err != nil || none.Kind != example.None || none.Len() != 0 || f.Has("none") {
		t.Errorf("got %v, %v", none, err)
	}
	if f.Count("id") != 1 || !f.Has("vals") {
		t.Error("wrong counts")
	}
}

// A repeated name is found among the features and the feature lists, in one message or
// in two concatenated ones. The empty name counts as a name.
func TestDuplicate(t *testing.T) {
	lists := func(names ...string) []byte {
		var all []example.NamedList
		for _, name := range names {
			all = append(all, example.NamedList{Name: name})
		}
		return example.MarshalSequence([]example.Named{{Name: "id"}}, all)
	}
	for _, test := range []struct {
		record        []byte
		feature, list string // "-": none
	}{
		{lists("id", "xs"), "-", "-"},
		{lists("", "xs", ""), "-", ""},
		{append(lists("xs"), lists("ys", "xs")...), "id", "xs"},
	} {
		s, err := example.ParseSequence(test.record)
		if err != nil {
			t.Fatal(err)
		}
		feature, found := s.Context.Duplicate()
		list, foundList := s.DuplicateList()
		if found != (test.feature != "-") || found && feature != test.feature || foundList != (test.list != "-") || foundList && list != test.list {
			t.Errorf("%q: feature %q %v, list %q %v", test.record, feature, found, list, foundList)
		}
	}
}

// TestDeadly reads records that end TensorFlow's process: one is refused, and the other
// is counted correctly, so that callers can compare the count.
func TestDeadly(t *testing.T) {
	f, err := example.Parse(corrupt.HugeString("s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Raw("s"); !errors.Is(err, millrace.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if f, err = example.Parse(corrupt.Unpacked(3, 500)); err != nil {
		t.Fatal(err)
	}
	if v, err := f.Raw("vals"); err != nil || v.Len() != 500 {
		t.Errorf("got %v, %v", v, err)
	}
	if id, err := f.Get("id"); err != nil || id.Ints[0] != 3 {
		t.Errorf("got %v, %v", id, err)
	}
}

// TestEveryCut cuts an Example at every byte: no prefix of it is an Example.
func TestEveryCut(t *testing.T) {
	record := corrupt.Example(5)
	for n := 1; n < len(record); n++ {
		if _, err := example.Parse(record[:n]); !errors.Is(err, millrace.ErrCorrupt) {
			t.Errorf("cut at %d: got %v", n, err)
		}
	}
}

func TestSniff(t *testing.T) {
	list := []example.NamedList{{Name: "l", Features: []example.Feature{ints("", 1).Feature}}}
	tests := []struct {
		name   string
		record []byte
		want   example.Form
	}{
		{"nothing", nil, example.Empty},
		{"Example", corrupt.Example(1), example.LikeExample},
		{"SequenceExample", example.MarshalSequence([]example.Named{ints("a", 1)}, list), example.LikeSequence},
		{"lists only", example.MarshalSequence(nil, list), example.LikeSequence},
		{"context only", example.MarshalSequence([]example.Named{ints("a", 1)}, nil), example.LikeExample},
		{"Example with an unknown field 2", append(corrupt.Example(1), "\x12\x02zz"...), example.LikeExample},
		{"Example with an unknown field 2 like a list", append(corrupt.Example(1), "\x12\x0b\x0a\x09\x0a\x01l\x12\x04\x0a\x02\x2a\x00"...), example.LikeExample},
		{"text", []byte("hello"), example.Neither},
	}
	for _, tt := range tests {
		if got := example.Sniff(tt.record); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestMemory reads records that need as much memory as possible for each byte.
func TestMemory(t *testing.T) {
	entries := strings.Repeat("\x0a\x04\x0a\x00\x12\x00", 1<<17)
	strs := strings.Repeat("\x0a\x00", 1<<18)
	list := append([]byte{0x0a}, varint(len(strs))...)
	list = append(list, strs...)
	tests := map[string][]byte{
		"entries": append(append([]byte{0x0a}, varint(len(entries))...), entries...),
		"strings": wrap(wrap(append([]byte("\x0a\x01a"), tagged(0x12, list)...))),
	}
	for name, record := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := example.Parse(record)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := f.Decode(); err != nil {
			t.Fatal(name, err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(60*len(record)) {
			t.Errorf("%s: %d bytes allocated for a record of %d", name, used, len(record))
		}
	}
}

func tagged(tag byte, b []byte) []byte {
	return append(append([]byte{tag}, varint(len(b))...), b...)
}

func wrap(b []byte) []byte { return tagged(0x0a, b) }

// TestRoundTrip writes random Examples and reads them with protobuf, and the
// other way round.
func TestRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		features := randomFeatures(rnd)
		record := example.Marshal(features)
		var p tfproto.Example
		if err := proto.Unmarshal(record, &p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(byName(features), fromProto(p.GetFeatures()), sameBits); diff != "" {
			t.Fatalf("protobuf reads otherwise (-want +got)\n%s", diff)
		}
		back, err := proto.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{record, back} {
			if diff := cmp.Diff(byName(features), byName(decode(t, b)), sameBits); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
		}
	}
}

func decode(t *testing.T, record []byte) []example.Named {
	t.Helper()
	f, err := example.Parse(record)
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameBits compares floats by their bits, and empty lists as equal to none.
var sameBits = cmp.Options{
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmpopts.EquateEmpty(),
}

func byName(features []example.Named) map[string]example.Feature {
	m := make(map[string]example.Feature, len(features))
	for _, f := range features {
		m[f.Name] = f.Feature
	}
	return m
}

func randomFeatures(rnd *rand.Rand) []example.Named {
	features := make([]example.Named, rnd.IntN(6))
	for i := range features {
		f := example.Feature{Kind: example.Kind(rnd.IntN(4))}
		for range rnd.IntN(5) {
			switch f.Kind {
			case example.Bytes:
				f.Bytes = append(f.Bytes, bytes.Repeat([]byte{byte(rnd.Uint32())}, rnd.IntN(200)))
			case example.Float:
				f.Floats = append(f.Floats, math.Float32frombits(rnd.Uint32()))
			case example.Int64:
				f.Ints = append(f.Ints, int64(rnd.Uint64()>>rnd.IntN(64)))
			}
		}
		features[i] = example.Named{Name: fmt.Sprintf("feature %d", i), Feature: f}
	}
	return features
}
