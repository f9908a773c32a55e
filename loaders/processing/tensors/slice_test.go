package tensors

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr(n int64) *int64 { return &n }

func TestParseSlice(t *testing.T) {
	at := func(n int64) SliceIndex { return SliceIndex{Single: true, Begin: ptr(n)} }
	tests := []struct {
		text string
		want []SliceIndex
	}{
		{"[3,:,4:,:-2,1:4]", []SliceIndex{at(3), {}, {Begin: ptr(4)}, {End: ptr(-2)}, {Begin: ptr(1), End: ptr(4)}}},
		{" [ 1 : 3 , : ] ", []SliceIndex{{Begin: ptr(1), End: ptr(3)}, {}}},
		{"-1", []SliceIndex{at(-1)}},
		{"\t0,\t-0 ", []SliceIndex{at(0), at(0)}},
		{"[9223372036854775807:-9223372036854775808]", []SliceIndex{{Begin: ptr(1<<63 - 1), End: ptr(-1 << 63)}}},
	}
	for _, tt := range tests {
		got, err := parseSlice(tt.text)
		if err != nil {
			t.Errorf("parseSlice(%q): %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("parseSlice(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

// pythonLength is the number of positions of range(size)[begin:end] in Python, counted.
func pythonLength(x SliceIndex, size int64) int64 {
	inside := func(i int64, bound *int64, open bool) bool {
		if bound == nil {
			return true
		}
		b := *bound
		if b < 0 {
			b += size
		}
		if open {
			return i < b
		}
		return i >= b
	}
	n := int64(0)
	for i := range size {
		if inside(i, x.Begin, false) && inside(i, x.End, true) {
			n++
		}
	}
	return n
}

// TestPositions compares the length of every small range with a count, and the result
// for an unknown dimension with all sizes that it may have.
func TestPositions(t *testing.T) {
	bounds := []*int64{nil}
	for b := int64(-7); b <= 7; b++ {
		bounds = append(bounds, ptr(b))
	}
	for _, begin := range bounds {
		for _, end := range bounds {
			x := SliceIndex{Begin: begin, End: end}
			unknown := x.positions(-1)
			for size := range int64(9) {
				want := pythonLength(x, size)
				if got := x.positions(size); got != want {
					t.Errorf("%v of %d\n got %d\nwant %d", cmp.Diff(SliceIndex{}, x), size, got, want)
				}
				if unknown >= 0 && unknown != want {
					t.Errorf("%v of any size is said to be %d, but of %d it is %d", cmp.Diff(SliceIndex{}, x), unknown, size, want)
				}
			}
		}
	}
}

func FuzzParseSlice(f *testing.F) {
	for _, s := range []string{"[3,:,4:,:-2,1:4]", "", "[", "]", "::", "--1", "1,", "[...]", "[[1]]", "1 2", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		indices, err := parseSlice(text)
		if (err == nil) != (len(indices) > 0) {
			t.Fatalf("parseSlice(%q) = %v, %v", text, indices, err)
		}
		for _, x := range indices {
			if x.Single && (x.Begin == nil || x.End != nil) {
				t.Errorf("parseSlice(%q): a single index without a position, or with an end", text)
			}
		}
	})
}
