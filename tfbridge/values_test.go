package tfbridge

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

func TestIntRange(t *testing.T) {
	tests := []struct {
		dt       DataType
		least    int64
		greatest uint64
		ok       bool
	}{
		{Int8, -128, 127, true},
		{Int32, -2147483648, 2147483647, true},
		{Int64, -9223372036854775808, 9223372036854775807, true},
		{Uint8, 0, 255, true},
		{Uint64, 0, 18446744073709551615, true},
		{Int4, 0, 0, false},
		{Qint8, 0, 0, false},
		{Bool, 0, 0, false},
		{Float, 0, 0, false},
		{DataType(0), 0, 0, false},
	}
	for _, test := range tests {
		least, greatest, ok := test.dt.IntRange()
		if least != test.least || greatest != test.greatest || ok != test.ok {
			t.Errorf("IntRange of %v\n got %d, %d, %v\nwant %d, %d, %v", test.dt, least, greatest, ok, test.least, test.greatest, test.ok)
		}
	}
}

func TestDataTypeNames(t *testing.T) {
	for d := DataType(1); d.known(); d++ {
		got, ok := ParseDataType(d.String())
		if !ok || got != d {
			t.Errorf("ParseDataType(%q) = %v, %v", d.String(), got, ok)
		}
	}
	for _, name := range []string{"", "Float", "float", "int", "int32 "} {
		if d, ok := ParseDataType(name); ok {
			t.Errorf("ParseDataType(%q) = %v, want none", name, d)
		}
	}
	tests := []struct {
		d    DataType
		text string
		size int
	}{
		{Float, "float32", 4}, {Half, "float16", 2}, {Bfloat16, "bfloat16", 2}, {Bool, "bool", 1},
		{Complex128, "complex128", 16}, {Quint16, "quint16", 2}, {String, "string", 0},
		{Resource, "resource", 0}, {Variant, "variant", 0}, {0, "DataType(0)", 0}, {-1, "DataType(-1)", 0},
		{34, "DataType(34)", 0}, {101, "float32_ref", 0}, {200, "DataType(200)", 0},
	}
	for _, tt := range tests {
		if got := tt.d.String(); got != tt.text {
			t.Errorf("String of %d\n got %s\nwant %s", tt.d, got, tt.text)
		}
		if got := tt.d.Size(); got != tt.size {
			t.Errorf("Size of %v: got %d, want %d", tt.d, got, tt.size)
		}
	}
}

func TestShapes(t *testing.T) {
	tests := []struct {
		s    Shape
		text string
		rank int
		full bool
	}{
		{Shape{}, "?", -1, false},
		{ScalarShape(), "[]", 0, true},
		{MakeShape(), "[]", 0, true},
		{MakeShape(2, -1), "[2, ?]", 2, false},
		{MakeShape(2, 0), "[2, 0]", 2, true},
	}
	for _, tt := range tests {
		if got := tt.s.String(); got != tt.text {
			t.Errorf("String: got %s, want %s", got, tt.text)
		}
		if got := tt.s.NumDimensions(); got != tt.rank {
			t.Errorf("NumDimensions of %v: got %d, want %d", tt.s, got, tt.rank)
		}
		if got := tt.s.IsFullySpecified(); got != tt.full {
			t.Errorf("IsFullySpecified of %v: got %v, want %v", tt.s, got, tt.full)
		}
		if dims, err := tt.s.ToSlice(); (err != nil) != (tt.rank < 0) || len(dims) != max(tt.rank, 0) {
			t.Errorf("ToSlice of %v: got %v, %v", tt.s, dims, err)
		}
	}
	if s := MakeShape(2, 3); s.Size(1) != 3 || s.Size(2) != -1 || s.Size(-1) != -1 {
		t.Errorf("Size of %v: got %d, %d, %d", s, s.Size(1), s.Size(2), s.Size(-1))
	}
}

func TestElements(t *testing.T) {
	tests := []struct {
		dims []int64
		want int64
		err  error
	}{
		{nil, 1, nil},
		{[]int64{2, 3}, 6, nil},
		{[]int64{2, 0, 5}, 0, nil},
		{[]int64{math.MaxInt64}, math.MaxInt64, nil},
		{[]int64{-1}, 0, millrace.ErrSchema},
		{[]int64{math.MinInt64}, 0, millrace.ErrSchema},
		{[]int64{1 << 32, 1 << 31}, 0, millrace.ErrLimit},
		{[]int64{1 << 40, 1 << 40, 0}, 0, millrace.ErrLimit},
		{make([]int64, 255), 0, millrace.ErrLimit},
	}
	for _, tt := range tests {
		got, err := elements(tt.dims)
		if got != tt.want || (tt.err == nil) != (err == nil) || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("elements(%v)\n got %d, %v\nwant %d, %v", tt.dims, got, err, tt.want, tt.err)
		}
	}
}

func TestErrorText(t *testing.T) {
	raw := make([]byte, 500)
	for i := range raw {
		raw[i] = byte(i)
	}
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	tests := []struct{ msg, want string }{
		{"plain", "plain"},
		{"two\nlines\t[[{{node a}}]]", "two lines [[{{node a}}]]"},
		{"b\u00fcrger \u4e16", "b\u00fcrger \u4e16"},
		{"esc \x1b[31m", `esc \x1b[31m`},
		{"bad \xff utf", `bad \xff utf`},
		{"c1 \u0085", `c1 \xc2\x85`},
		{string(long), string(long[:1024]) + "..."},
	}
	for _, tt := range tests {
		e := &Error{Func: "TF_X", Code: OutOfRange, Msg: tt.msg}
		if got, want := e.Error(), "TF_X: out of range: "+tt.want; got != want {
			t.Errorf("text\n got %q\nwant %q", got, want)
		}
	}
	e := &Error{Func: "TF_X", Code: Code(99), Msg: "value: '" + string(raw) + "'"}
	if got := e.Error(); len(got) > 350 || !errors.Is(e, Code(99)) {
		t.Errorf("text with record bytes has %d bytes: %s", len(got), got)
	}
}

func TestCodeClasses(t *testing.T) {
	for c := OK; c <= Unauthenticated; c++ {
		if c.class() == "" || c.Error() == "" {
			t.Errorf("code %d has class %q and name %q", int(c), c.class(), c.Error())
		}
	}
	if got := Code(77).class(); got != millrace.ErrInternal {
		t.Errorf("class of an unknown code: got %q", got)
	}
}

// Reading beside a Close gives everything or that the tensor is closed.
func TestReadsBesideClose(t *testing.T) {
	testruntime.Need(t)
	text := slices.Repeat([]string{strings.Repeat("text", 20)}, 100)
	numbers := slices.Repeat([]int64{7}, 300)
	for range 30 {
		a, err := NewTensor(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewTensor(numbers)
		if err != nil {
			t.Fatal(err)
		}
		reads := []func() (whole bool, err error){
			func() (bool, error) { got, err := a.Strings(); return slices.Equal(got, text), err },
			func() (bool, error) { got, err := a.StringAt(99); return got == text[99], err },
			func() (bool, error) { got, err := b.Bytes(); return len(got) == 8*len(numbers), err }, // not its contents
			func() (bool, error) { got, err := View[int64](b); return len(got) == len(numbers), err },
			func() (bool, error) {
				switch got := a.Value().(type) {
				case nil:
					return false, errClosed("tensor")
				default:
					return slices.Equal(got.([]string), text), nil
				}
			},
		}
		var group, begun sync.WaitGroup
		begun.Add(len(reads))
		for _, read := range reads {
			group.Go(func() {
				once := sync.OnceFunc(begun.Done)
				for {
					whole, err := read()
					once()
					if err != nil {
						if !errors.Is(err, millrace.ErrClosed) {
							t.Error(err)
						}
						return
					}
					if !whole {
						t.Error("a part is not there")
					}
				}
			})
		}
		begun.Wait()
		a.Close()
		b.Close()
		group.Wait()
	}
}

func TestTensorString(t *testing.T) {
	x, err := NewTensor([][]float32{{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x); got != "float32 [1 3]" {
		t.Errorf("got %q", got)
	}
	x.Close()
	if got, none := fmt.Sprint(x), fmt.Sprint((*Tensor)(nil)); got != "closed tensor" || none != "closed tensor" {
		t.Errorf("got %q and %q", got, none)
	}
}
