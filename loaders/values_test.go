package loaders_test

import (
	"encoding/binary"
	"math"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// oddFloats are the bits of floats that arithmetic may change: NaNs with and
// without the quiet bit, negative zero, denormals, infinities, the largest.
var oddFloats = []uint32{
	0x7fc00000, 0xffc00001, 0x7f800001, 0xff812345, 0x80000000, 0, 1, 0x80000001, 0x007fffff, 0x7f800000, 0xff800000, 0x7f7fffff, 0x00800000,
}

// Values are read with the same bits with which they were stored, whatever they are
// (C29).
func TestValuesAreExact(t *testing.T) {
	testruntime.Need(t)
	ints := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1<<53 + 1, math.MaxInt64}
	doubles := []uint64{0x7ff8000000000001, 0xfff0000000000123, 1 << 63, 1, 0x000fffffffffffff, 0x7fefffffffffffff, 0xfff0000000000000}
	text := "\x00\xff\xc3(\r\n\x00"
	for _, multiLoad := range []bool{false, true} {
		d := fixture.New(t)
		d.Manifest["features"] = []fixture.Object{
			{"name": "f", "dtype": "float32", "shape": []int{len(oddFloats)}, "deserialize_type": "float"},
			{"name": "i", "dtype": "int64", "shape": []int{len(ints)}, "deserialize_type": "int"},
			{"name": "d", "dtype": "float64", "shape": []int{len(doubles)}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "big"}},
			{"name": "s", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		}
		var primaries []fixture.Object
		for _, name := range []string{"f", "i", "d", "s"} {
			primaries = append(primaries, fixture.Object{"from_name": name, "to_name": name})
		}
		d.Args["primary_features"], d.Args["multi_load"] = primaries, multiLoad
		record := []example.Named{named("i", fixture.Ints(ints...)), named("s", example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(text)}})}
		floats := make([]float32, len(oddFloats))
		for i, bits := range oddFloats {
			floats[i] = math.Float32frombits(bits)
		}
		var raw []byte
		for _, bits := range doubles {
			raw = binary.BigEndian.AppendUint64(raw, bits)
		}
		record = append(record, named("f", fixture.Floats(floats...)), named("d", example.Feature{Kind: example.Bytes, Bytes: [][]byte{raw}}))
		d.WriteRecords(t, "a.tfrecords", example.Marshal(record), example.Marshal(record))
		for _, l := range openBothWays(t, d) {
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				s, err := b.Tensor("s").Strings()
				if err != nil {
					t.Fatal(err)
				}
				for name, want := range map[string][2]any{
					"f": {append(oddFloats[:len(oddFloats):len(oddFloats)], oddFloats...), words32(t, b.Tensor("f"))},
					"d": {append(doubles[:len(doubles):len(doubles)], doubles...), words64(t, b.Tensor("d"))},
					"i": {append(ints[:len(ints):len(ints)], ints...), column[int64](t, b, "i")},
					"s": {[]string{text, text}, s},
				} {
					if diff := cmp.Diff(want[0], want[1]); diff != "" {
						t.Errorf("multi_load %v, %s (-want +got)\n%s", multiLoad, name, diff)
					}
				}
			}
		}
	}
}

func words32(t *testing.T, x *tfbridge.Tensor) (words []uint32) {
	t.Helper()
	b, err := x.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for ; len(b) > 0; b = b[4:] {
		words = append(words, binary.NativeEndian.Uint32(b))
	}
	return words
}

func words64(t *testing.T, x *tfbridge.Tensor) (words []uint64) {
	t.Helper()
	b, err := x.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for ; len(b) > 0; b = b[8:] {
		words = append(words, binary.NativeEndian.Uint64(b))
	}
	return words
}
