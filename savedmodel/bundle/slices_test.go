package bundle

import (
	"math"
	"slices"
	"testing"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
)

// TensorFlow's kernels end the process, or read and write outside of tensors, if the
// entries of a variable's slices do not fit it. Each such index is refused.
func TestSlicesThatLie(t *testing.T) {
	part := func(dims ...int64) *tfproto.BundleEntryProto {
		n := int64(4)
		for _, d := range dims {
			n *= d
		}
		return modeltest.Floats(modeltest.Shape(dims...), 0, n)
	}
	ints := part(2, 3)
	ints.Dtype = tfproto.DataType_DT_INT32
	inSlices := part(2, 3)
	inSlices.Slices = []*tfproto.TensorSliceProto{modeltest.Slice(0, 1, 0, 0)}
	const fits, other = "one does not fit the variable's shape", "one has another type or shape"
	for _, tt := range []struct {
		name, want string
		slice      *tfproto.TensorSliceProto
		part       *tfproto.BundleEntryProto
	}{
		{"sound", "", modeltest.Slice(0, 2, 0, 3), part(2, 3)},
		{"sound, with a whole dimension", "", modeltest.Slice(2, 2, 0, 0), part(2, 3)},
		{"another type", other, modeltest.Slice(0, 2, 0, 0), ints},
		{"another shape", other, modeltest.Slice(0, 2, 0, 0), part(2, 2)},
		{"another rank", other, modeltest.Slice(0, 2, 0, 0), part(6)},
		{"a part that is in slices", other, modeltest.Slice(0, 2, 0, 0), inSlices},
		{"too few dimensions", fits, modeltest.Slice(0, 2), part(2)},
		{"no dimensions", fits, modeltest.Slice(), part()},
		{"the whole variable", fits, modeltest.Slice(0, 0, 0, 0), part(4, 3)},
		{"before the start", fits, modeltest.Slice(-1, 2, 0, 0), part(2, 3)},
		{"beyond the end", fits, modeltest.Slice(3, 2, 0, 0), part(2, 3)},
		{"a start beyond the end", fits, modeltest.Slice(math.MaxInt64, 1, 0, 0), part(1, 3)},
		{"a negative length", fits, modeltest.Slice(0, -5, 0, 0), part(0, 3)},
		{"a length of -1", fits, modeltest.Slice(0, -1, 0, 1), part(4, 1)},
		{"a start of a whole dimension", fits, modeltest.Slice(1, 0, 0, 1), part(4, 1)},
		{"no part", "one is missing from the index", modeltest.Slice(1, 2, 0, 0), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := part(4, 3)
			whole.Size, whole.Slices = 0, []*tfproto.TensorSliceProto{tt.slice}
			keys, entries := []string{"w"}, []*tfproto.BundleEntryProto{whole}
			if tt.part != nil {
				key := sliceKey("w", extentsOf(t, tt.slice))
				keys, entries = []string{key, "w"}, []*tfproto.BundleEntryProto{tt.part, whole}
				if tt.part == inSlices {
					keys = append([]string{sliceKey(key, []extent{{0, 1}, {0, -1}})}, keys...)
					entries = append([]*tfproto.BundleEntryProto{part(1, 3)}, entries...)
				}
			}
			_, err := Read("v.index", modeltest.Index(t, 1, keys, entries...))
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "":
				modeltest.WantError(t, err, millrace.ErrModel, `tensor "w"`, "its slices: "+tt.want)
			}
		})
	}
}

// Lists of slices take two bytes a slice, and Snappy makes one of twenty. So 12 MB claimed
// slices for 5 GB before they were compared with the entries that there are.
func TestMoreSlicesThanEntries(t *testing.T) {
	list := modeltest.Floats(modeltest.Shape(4, 3), 0, 0)
	for range 3 {
		list.Slices = append(list.Slices, modeltest.Slice())
	}
	other := modeltest.Floats(modeltest.Shape(), 0, 4)
	for _, tt := range []struct {
		keys []string
		want string
	}{
		{[]string{"w"}, `tensor "w": it is damaged: the variables up to this one list more slices than the index has entries`},
		{[]string{"a", "b", "w"}, "its slices: one does not fit"}, // and the header is an entry
		{[]string{"a", "v", "w"}, `tensor "w": it is damaged: the variables up to this one`},
	} {
		entries := make([]*tfproto.BundleEntryProto, len(tt.keys))
		for i, key := range tt.keys {
			if entries[i] = list; key == "a" || key == "b" {
				entries[i] = other
			}
		}
		_, err := Read("v.index", modeltest.Index(t, 1, tt.keys, entries...))
		modeltest.WantError(t, err, millrace.ErrModel, tt.want)
	}
}

// A variable has at most 128 dimensions, and operations that read it rely on this limit.
func TestDimensions(t *testing.T) {
	for n, want := range map[int]string{maxDims: "", maxDims + 1: "it has 129 dimensions, at most 128 are allowed"} {
		e := modeltest.Floats(modeltest.Shape(slices.Repeat([]int64{1}, n)...), 0, 4)
		_, err := Read("v.index", modeltest.Index(t, 1, []string{"w"}, e))
		if want == "" && err != nil {
			t.Errorf("%d: %v", n, err)
		} else if want != "" {
			modeltest.WantError(t, err, millrace.ErrModel, `tensor "w"`, want)
		}
	}
}

func extentsOf(t *testing.T, s *tfproto.TensorSliceProto) []extent {
	return parseSlice(modeltest.Marshal(t, s))
}

// The keys are those that TensorFlow 2.21 wrote for a variable in slices.
func TestSliceKeys(t *testing.T) {
	for _, tt := range []struct {
		extents []extent
		want    string
	}{
		{nil, "\x00v\x00\x01\x00"},
		{[]extent{{0, 2}, {0, -1}}, "\x00v\x00\x01\x01\x02\x80\x82\x80\x7f"},
		{[]extent{{63, 64}}, "\x00v\x00\x01\x01\x01\xbf\xc0\x40"},
		{[]extent{{8191, 8192}}, "\x00v\x00\x01\x01\x01\xdf\xff\xe0\x20\x00"},
		{[]extent{{1 << 40, math.MaxInt64}}, "\x00v\x00\x01\x01\x01\xfd\x00\x00\x00\x00\x00\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff"},
	} {
		if got := sliceKey("v", tt.extents); got != tt.want {
			t.Errorf("%v:\n got %q\nwant %q", tt.extents, got, tt.want)
		}
	}
	if got, want := sliceKey("a\x00\xffb", nil), "\x00a\x00\xff\xff\x00b\x00\x01\x00"; got != want {
		t.Errorf("a name with odd bytes: got %q, want %q", got, want)
	}
}
