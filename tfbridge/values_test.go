package tfbridge

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"millrace"
	"millrace/dtype"
	"millrace/internal/test/testruntime"
)

// This package has the names that programs for TensorFlow's own Go binding use,
// including methods.
func TestDataTypeIsOfTheLeaf(t *testing.T) {
	var d DataType = dtype.Half
	if d != Half || d.String() != "float16" || d.Size() != 2 || Complex != Complex64 {
		t.Errorf("Half is %v of %d bytes", d, d.Size())
	}
	for name, want := range map[string]DataType{"float32": Float, "half": Half, "float": Float, "double": Double, "int": 0, "Float32": 0} {
		if parsed, ok := ParseDataType(name); ok != (want != 0) || parsed != want {
			t.Errorf("ParseDataType(%q): got %v, %v, want %v", name, parsed, ok, want)
		}
	}
	if parsed, ok := ParseDataType(""); ok {
		t.Errorf("ParseDataType of nothing: got %v", parsed)
	}
	var shape Shape = dtype.MakeShape(2, -1)
	if shape.String() != MakeShape(2, -1).String() || ScalarShape().NumDimensions() != 0 {
		t.Errorf("shape %v", shape)
	}
}

func TestGoTypesHaveTheSizesOfElements(t *testing.T) {
	for d := DataType(1); d.Known(); d++ {
		typ := goType(d)
		switch {
		case d == String:
			if typ.Kind() != reflect.String {
				t.Errorf("a string is a Go %v", typ)
			}
		case d.Size() == 0:
			if typ != nil {
				t.Errorf("%v has no contents that Go reads, got a Go %v", d, typ)
			}
		case typ == nil || int(typ.Size()) != d.Size():
			t.Errorf("%v of %d bytes is a Go %v", d, d.Size(), typ)
		}
	}
	if typ := goType(DataType(34)); typ != nil {
		t.Errorf("no data type is a Go %v", typ)
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

// A read during Close returns all contents, or the error that the tensor is closed.
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
			func() (bool, error) { got, err := b.Bytes(); return len(got) == 8*len(numbers), err }, // the contents are not compared
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
	if got, none := fmt.Sprint(x), fmt.Sprint((*Tensor)(nil)); got != "closed tensor" || none != "nil tensor" {
		t.Errorf("got %q and %q", got, none)
	}
}
