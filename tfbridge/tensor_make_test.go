package tfbridge

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/dtype"
	"millrace/internal/test/testruntime"
)

func TestNewTensorKinds(t *testing.T) {
	testruntime.Need(t)
	type named float32
	tests := []struct {
		value any
		dt    DataType
		shape []int64
		want  any // nil: value
	}{
		{true, Bool, nil, nil},
		{int8(-3), Int8, nil, nil},
		{int16(-3), Int16, nil, nil},
		{int32(-3), Int32, nil, nil},
		{int64(math.MinInt64), Int64, nil, nil},
		{uint8(250), Uint8, nil, nil},
		{uint16(65535), Uint16, nil, nil},
		{uint32(3), Uint32, nil, nil},
		{uint64(math.MaxUint64), Uint64, nil, nil},
		{float32(1.5), Float, nil, nil},
		{named(1.5), Float, nil, float32(1.5)},
		{math.Inf(-1), Double, nil, nil},
		{complex64(1 + 2i), Complex64, nil, nil},
		{1 + 2i, Complex128, nil, nil},
		{Float16(0x3c00), Half, nil, nil},
		{BFloat16(0x3f80), Bfloat16, nil, nil},
		{"a\x00\xff", String, nil, nil},
		{"", String, nil, nil},
		{[]bool{true, false}, Bool, []int64{2}, nil},
		{[]byte("raw"), Uint8, []int64{3}, nil},
		{[]float32{}, Float, []int64{0}, nil},
		{[]float32(nil), Float, []int64{0}, []float32{}},
		{[][]float32{{}, {}}, Float, []int64{2, 0}, nil},
		{[][][]float32{}, Float, []int64{0, 0, 0}, nil},
		{[][3]float32{}, Float, []int64{0, 3}, [][]float32{}},
		{[2][3]int32{{1, 2, 3}, {4, 5, 6}}, Int32, []int64{2, 3}, [][]int32{{1, 2, 3}, {4, 5, 6}}},
		{[][2]int32{{1, 2}, {3, 4}}, Int32, []int64{2, 2}, [][]int32{{1, 2}, {3, 4}}},
		{[2][]int32{{1, 2}, {3, 4}}, Int32, []int64{2, 2}, [][]int32{{1, 2}, {3, 4}}},
		{[][][]int16{{{1}, {2}}, {{3}, {4}}, {{5}, {6}}}, Int16, []int64{3, 2, 1}, nil},
		{[]string{"a", "", strings.Repeat("long", 99)}, String, []int64{3}, nil},
		{[][]string{{"a"}, {"b"}}, String, []int64{2, 1}, nil},
		{[0]string{}, String, []int64{0}, []string{}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%T", tt.value), func(t *testing.T) {
			x := newTestTensor(t, tt.value)
			if x.DataType() != tt.dt {
				t.Errorf("type: got %v, want %v", x.DataType(), tt.dt)
			}
			if diff := cmp.Diff(tt.shape, x.Shape()); diff != "" {
				t.Errorf("shape (-want +got)\n%s", diff)
			}
			want := tt.want
			if want == nil {
				want = tt.value
			}
			if diff := cmp.Diff(want, x.Value()); diff != "" {
				t.Errorf("value (-want +got)\n%s", diff)
			}
		})
	}
}

func TestNewTensorRefuses(t *testing.T) {
	testruntime.Need(t)
	tests := []struct {
		value any
		want  string
	}{
		{nil, "nil is not a value for a tensor"},
		{struct{}{}, "no data type for elements of type struct {}"},
		{[]any{1}, "no data type for elements of type interface {}"},
		{map[string]int{}, "no data type"},
		{uintptr(1), "no data type"},
		{new(int32), "no data type"},
		{make(chan int), "no data type"},
		{[][]float32{{1, 2}, {3}}, "element [1] has length 1, others 2"},
		{[][]float32{{}, {3}}, "element [1] has length 1, others 0"},
		{[][][]int8{{{1}, {2}}, {{3}, {4, 5}}}, "element [1][1] has length 2, others 1"},
		{[][][]int8{{{1}, {2}}, {{3}}}, "element [1] has length 1, others 2"},
		{[]([2][]int8){{{1}, {2}}, {{3}, nil}}, "element [1][1] has length 0, others 1"},
		{[][]string{{"a"}, {"b", "c"}}, "element [1] has length 2, others 1"},
		{[][][]string{{{"a"}}, {{"b", "c"}}}, "element [1][0] has length 2, others 1"},
	}
	for _, tt := range tests {
		x, err := NewTensor(tt.value)
		if !errors.Is(err, millrace.ErrSchema) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewTensor(%v)\n got %v, %v\nwant %s", tt.value, x, err, tt.want)
		}
	}
}

func TestNewTensorFromBytes(t *testing.T) {
	testruntime.Need(t)
	raw := make([]byte, 6*16)
	for i := range raw {
		raw[i] = byte(i)
	}
	for dt := DataType(1); dt.Known(); dt++ {
		n := 6 * dt.Size()
		if dt == Bool {
			continue // the bytes of a bool are 0 or 1
		}
		x, err := NewTensorFromBytes(dt, []int64{2, 3}, raw[:n])
		if dt.Size() == 0 {
			if !errors.Is(err, millrace.ErrSchema) {
				t.Errorf("%v: got %v, %v", dt, x, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", dt, err)
			continue
		}
		var out bytes.Buffer
		if _, err := x.WriteContentsTo(&out); err != nil || !bytes.Equal(out.Bytes(), raw[:n]) {
			t.Errorf("contents of %v: got %v, %v", dt, out.Bytes(), err)
		}
		back, err := ReadTensor(dt, []int64{2, 3}, &out)
		if err != nil {
			t.Fatal(err)
		}
		if v := reflect.TypeOf(back.Value()); v.Elem().Elem() != goType(dt) {
			t.Errorf("value of %v has type %v", dt, v)
		}
		if got := back.ByteSize(); got != int64(n) {
			t.Errorf("ByteSize of %v: got %d, want %d", dt, got, n)
		}
		x.Close()
		back.Close()
	}
}

func TestTensorSizes(t *testing.T) {
	testruntime.Need(t)
	tests := []struct {
		name string
		make func() (*Tensor, error)
		want error
	}{
		{"negative", func() (*Tensor, error) { return NewTensorFromSlice([]int64{-1}, []float32{}) }, millrace.ErrSchema},
		{"few", func() (*Tensor, error) { return NewTensorFromSlice([]int64{3}, []float32{1, 2}) }, millrace.ErrSchema},
		{"many", func() (*Tensor, error) { return NewTensorFromSlice([]int64{1}, []float32{1, 2}) }, millrace.ErrSchema},
		{"strings", func() (*Tensor, error) { return NewStringTensor([]int64{3}, []string{"a"}) }, millrace.ErrSchema},
		{"overflow", func() (*Tensor, error) { return NewTensorFromSlice([]int64{1 << 62, 4}, []int8{}) }, millrace.ErrLimit},
		{"bytes overflow", func() (*Tensor, error) { return NewTensorFromSlice([]int64{1 << 62}, []int64{}) }, millrace.ErrLimit},
		{"1 EiB", func() (*Tensor, error) { return ReadTensor(Int8, []int64{1 << 60}, nil) }, millrace.ErrLimit},
		{"1 EiB of strings", func() (*Tensor, error) { return newTensor(String, []int64{1 << 55}) }, millrace.ErrLimit},
		{"rank", func() (*Tensor, error) { return ReadTensor(Int8, make([]int64, 300), nil) }, millrace.ErrLimit},
		{"variant", func() (*Tensor, error) { return ReadTensor(Variant, nil, nil) }, millrace.ErrSchema},
		{"garbage", func() (*Tensor, error) { return ReadTensor(-7, nil, nil) }, millrace.ErrSchema},
		{"no bool", func() (*Tensor, error) { return NewTensorFromBytes(Bool, []int64{2}, []byte{1, 2}) }, millrace.ErrSchema},
		{"no bool read", func() (*Tensor, error) { return ReadTensor(Bool, []int64{1}, strings.NewReader("x")) }, millrace.ErrSchema},
		{"end", func() (*Tensor, error) { return ReadTensor(Int8, []int64{9}, strings.NewReader("few")) }, millrace.ErrIO},
		{"type", func() (*Tensor, error) { return NewTensorFromSlice([]int64{1}, []any{1}) }, millrace.ErrSchema},
	}
	for _, tt := range tests {
		x, err := tt.make()
		if x != nil || !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, %v, want %v", tt.name, x, err, tt.want)
		}
	}
}

func TestTensorRank(t *testing.T) {
	testruntime.Need(t)
	dims := make([]int64, dtype.MaxRank)
	for i := range dims {
		dims[i] = 1
	}
	dims[100] = 2
	x, err := NewTensorFromSlice(dims, []int8{4, 5})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if diff := cmp.Diff(dims, x.Shape()); diff != "" {
		t.Errorf("shape (-want +got)\n%s", diff)
	}
}

func TestView(t *testing.T) {
	testruntime.Need(t)
	x := newTestTensor(t, [][]float32{{1, 2}, {3, 4}})
	v, err := View[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	v[3] = 9
	if got := x.Value().([][]float32)[1][1]; got != 9 {
		t.Errorf("after writing to the view: got %v, want 9", got)
	}
	if _, err := View[int32](x); !errors.Is(err, millrace.ErrSchema) {
		t.Errorf("View[int32] of float32: %v", err)
	}
	type celsius float32
	if v, err := View[celsius](x); err != nil || v[0] != 1 {
		t.Errorf("View of a named type: %v, %v", v, err)
	}
	h := newTestTensor(t, []Float16{1, 2})
	bits, err := View[uint16](h)
	if err != nil || bits[1] != 2 {
		t.Errorf("View[uint16] of float16: %v, %v", bits, err)
	}
	if _, err := View[BFloat16](h); err == nil {
		t.Error("View[BFloat16] of float16 succeeded")
	}
	if _, err := View[string](newTestTensor(t, "a")); err == nil {
		t.Error("View[string] succeeded")
	}
	if v, err := View[bool](newTestTensor(t, []bool{})); err != nil || len(v) != 0 {
		t.Errorf("View of nothing: %v, %v", v, err)
	}
}

func TestClosedTensor(t *testing.T) {
	testruntime.Need(t)
	closed := newTestTensor(t, []float32{1})
	text := newTestTensor(t, "a")
	for _, x := range []*Tensor{closed, text, closed, nil} {
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for _, x := range []*Tensor{closed, {}, nil} {
		_, viewErr := View[float32](x)
		_, bytesErr := x.Bytes()
		_, writeErr := x.WriteContentsTo(nil)
		for i, err := range []error{viewErr, bytesErr, writeErr} {
			if !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("call %d on a closed tensor: %v", i, err)
			}
		}
	}
	if _, err := text.Strings(); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("Strings of a closed tensor: %v", err)
	}
	if _, err := text.StringAt(0); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("StringAt of a closed tensor: %v", err)
	}
	if err := (&Tensor{}).Close(); err != nil {
		t.Errorf("Close of the zero value: %v", err)
	}
	if got := closed.Value(); got != nil {
		t.Errorf("Value of a closed tensor: %v", got)
	}
}

func TestStrings(t *testing.T) {
	testruntime.Need(t)
	values := []string{"", "a", "\x00", "\xff\xfe", strings.Repeat("z", 22), strings.Repeat("z", 23), strings.Repeat("big", 1<<20), "end"}
	x, err := NewStringTensor([]int64{2, 4}, values)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	got, err := x.Strings()
	if err != nil || !reflect.DeepEqual(got, values) {
		t.Errorf("Strings: %d values, %v", len(got), err)
	}
	for i, want := range values {
		if got, err := x.StringAt(int64(i)); got != want || err != nil {
			t.Errorf("StringAt(%d): %d bytes, %v, want %d bytes", i, len(got), err, len(want))
		}
	}
	for _, i := range []int64{-1, 8, math.MaxInt64} {
		if _, err := x.StringAt(i); !errors.Is(err, millrace.ErrSchema) {
			t.Errorf("StringAt(%d): %v", i, err)
		}
	}
	type id []byte
	y, err := NewStringTensor([]int64{2}, []id{id("x"), nil})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if got, err := y.Strings(); err != nil || !reflect.DeepEqual(got, []string{"x", ""}) {
		t.Errorf("Strings of byte slices: %q, %v", got, err)
	}
	if _, err := newTestTensor(t, int64(1)).Strings(); !errors.Is(err, millrace.ErrSchema) {
		t.Errorf("Strings of numbers: %v", err)
	}
}

func TestManyStrings(t *testing.T) {
	testruntime.Need(t)
	values := make([]string, 300_000)
	for i := range values {
		values[i] = strings.Repeat(fmt.Sprint(i), i%7)
	}
	x, err := NewTensorFromSlice([]int64{int64(len(values))}, values)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	got, err := x.Strings()
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != values[i] {
			t.Fatalf("element %d: got %q, want %q", i, got[i], values[i])
		}
	}
}
