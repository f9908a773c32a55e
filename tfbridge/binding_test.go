package tfbridge

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

// Programs are ported to this package from TensorFlow's own binding. This file tests
// the behaviour that they rely on and that no other test covers.

func TestStringHash(t *testing.T) {
	b := newBuild(t)
	hash := b.out("StringToHashBucketFast", "hash", map[string]any{"num_buckets": int64(1) << 32}, b.constant("text", "PleaseHashMe"))
	if got := run1(t, b.session(), nil, b.out("AsString", "number", nil, hash)); got != "1027741475" {
		t.Errorf("got %v, want 1027741475", got)
	}
}

func TestDeviceText(t *testing.T) {
	for _, tt := range []struct {
		d    Device
		want string
	}{
		{Device{Name: "d", Type: "CPU", MemoryLimitBytes: 5}, `(Device: name "d", type CPU, memory limit 5 bytes)`},
		{Device{Name: "d", Type: "CPU"}, `(Device: name "d", type CPU, memory limit 0 bytes)`},
		{Device{Name: "d", Type: "CPU", MemoryLimitBytes: -1}, `(Device: name "d", type CPU, no memory limit)`},
	} {
		if got := tt.d.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	devices, err := newBuild(t).session().ListDevices()
	if err != nil || len(devices) == 0 || devices[0].Type != "CPU" {
		t.Errorf("devices of a session: %v, %v", devices, err)
	}
}

func TestHundredRunsAgainstClose(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Int64, ScalarShape())
	y := b.out("Neg", "y", nil, x)
	s := b.session()
	one := b.tensor(int64(1))
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			out, err := s.Run(map[Output]*Tensor{x: one}, []Output{y}, []*Operation{y.Op})
			if err != nil && !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("a run beside Close: %v", err)
			}
			for _, o := range out {
				o.Close()
			}
		})
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	wg.Wait()
}

// The same feeds reach TensorFlow in the same order, because it would prepare another
// run for each order.
func TestFeedsAreOrdered(t *testing.T) {
	b := newBuild(t)
	feeds := map[Output]*Tensor{{}: nil, {Op: &Operation{}, Index: 3}: nil}
	for i := range 20 {
		o := b.placeholder("x"+strings.Repeat("x", i), Float, ScalarShape())
		o.Index = i % 3 // some of these outputs do not exist
		feeds[o] = b.tensor(float32(i))
	}
	first := newCRunArgs(feeds, nil, nil)
	for range 10 {
		again := newCRunArgs(feeds, nil, nil)
		if !reflect.DeepEqual(again.feeds, first.feeds) {
			t.Fatalf("got the order %v, before it was %v", again.feeds, first.feeds)
		}
		for i, o := range again.feeds {
			if again.values[i] != feeds[o] {
				t.Fatalf("the value of %v went elsewhere", o)
			}
		}
	}
}

func TestProducers(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, ScalarShape())
	y := b.placeholder("y", Float, ScalarShape())
	sum := b.out("AddV2", "sum", nil, x, y)
	neg := b.out("Neg", "neg", nil, x)
	got := x.Consumers()
	if len(got) != 2 || got[0].Op.Name() != "sum" || got[1].Op.Name() != "neg" {
		t.Fatalf("consumers of x: %v", got)
	}
	for _, c := range got {
		if p := c.Producer(); p.String() != "x:0" || c.DataType() != Float {
			t.Errorf("producer of %s:%d: %v of type %v", c.Op.Name(), c.Index, p, c.DataType())
		}
	}
	if p := (Consumer{Op: sum.Op, Index: 1}).Producer(); p.String() != "y:0" {
		t.Errorf("producer of sum's second input: %v", p)
	}
	for _, c := range []Consumer{{}, {Op: neg.Op, Index: 1}, {Op: neg.Op, Index: -1}, {Op: &Operation{}}} {
		if p := c.Producer(); p != (Output{}) || c.DataType() != 0 {
			t.Errorf("producer of an input that is not there: %v of type %v", p, c.DataType())
		}
	}
}

// Tensors one after another in a stream: each read takes its own bytes, missing bytes
// are an error, and short reads are not mistaken for the end.
func TestReadTensorsFromStream(t *testing.T) {
	testruntime.Need(t)
	var stream bytes.Buffer
	values := []any{int8(7), []float32{2.5, -1}, [][]int64{{1}, {2}}, []complex128{1i}, []bool{true}}
	for _, v := range values {
		if n, err := newTestTensor(t, v).WriteContentsTo(&stream); err != nil || n == 0 {
			t.Fatalf("write %v: %d bytes, %v", v, n, err)
		}
	}
	all := stream.Bytes()
	for _, v := range values {
		want := newTestTensor(t, v)
		r := io.MultiReader(io.LimitReader(&stream, 1), &stream)
		got, err := ReadTensor(want.DataType(), want.Shape(), r)
		if err != nil {
			t.Fatalf("read %v: %v", v, err)
		}
		if !reflect.DeepEqual(got.Value(), v) {
			t.Errorf("got %v, want %v", got.Value(), v)
		}
		got.Close()
	}
	if stream.Len() != 0 {
		t.Errorf("%d bytes are left", stream.Len())
	}
	for n := range 8 {
		if x, err := ReadTensor(Float, []int64{2}, bytes.NewReader(all[1:1+n])); x != nil || !errors.Is(err, millrace.ErrIO) {
			t.Errorf("8 bytes of which there are %d: %v, %v", n, x, err)
		}
	}
	for _, shape := range [][]int64{{-1}, {-1, 1}, {2, -1}, {-1, -2}} {
		if x, err := ReadTensor(Float, shape, bytes.NewReader(all)); x != nil || !errors.Is(err, millrace.ErrSchema) {
			t.Errorf("shape %v: %v, %v", shape, x, err)
		}
	}
}

// ragged returns a value with dimensions 2x2x...x2, except that the last slice at one
// depth is one element too short or too long.
func ragged(typ reflect.Type, rank, at int, last bool, short int) reflect.Value {
	if rank == 0 {
		return reflect.Zero(typ)
	}
	n := 2
	if last && at == 0 {
		n += short
	}
	slices := typ
	for range rank {
		slices = reflect.SliceOf(slices)
	}
	v := reflect.MakeSlice(slices, n, n)
	for i := range n {
		v.Index(i).Set(ragged(typ, rank-1, at-1, last && i == n-1, short))
	}
	return v
}

func TestRaggedAtAnyDepth(t *testing.T) {
	testruntime.Need(t)
	for _, typ := range []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[float32](), reflect.TypeFor[bool]()} {
		for rank := 2; rank <= 6; rank++ {
			for depth := 1; depth < rank; depth++ {
				for _, by := range []int{-2, -1, 1, 5} {
					x, err := NewTensor(ragged(typ, rank, depth, true, by).Interface())
					if x != nil || !errors.Is(err, millrace.ErrSchema) {
						t.Errorf("%v of rank %d, ragged at depth %d by %d: %v, %v", typ, rank, depth, by, x, err)
					}
				}
			}
			even := newTestTensor(t, ragged(typ, rank, rank, false, 0).Interface())
			if got := even.NumElements(); got != 1<<rank {
				t.Errorf("%v of rank %d: %d elements", typ, rank, got)
			}
		}
	}
}

func TestTypeOfValue(t *testing.T) {
	testruntime.Need(t)
	for _, v := range []any{true, []int8{1}, [][]string{{"a"}}, [][][]complex64{{{1}}}, []Float16{1}, uint32(3)} {
		x := newTestTensor(t, v)
		if got, want := TypeOf(x.DataType(), x.Shape()), reflect.TypeOf(x.Value()); got != want {
			t.Errorf("TypeOf(%v, %v): got %v, want %v", x.DataType(), x.Shape(), got, want)
		}
	}
	for _, dt := range []DataType{0, -1, Resource, Variant, 4711} {
		if got := TypeOf(dt, []int64{1}); got != nil {
			t.Errorf("TypeOf(%v): got %v", dt, got)
		}
	}
}

// The size of an int depends on the machine, so it cannot be an element.
func TestIntIsNoElement(t *testing.T) {
	testruntime.Need(t)
	type named int
	for _, v := range []any{1, uint(1), uintptr(1), []int{1}, [1][1]uint{}, []named{}, map[int]int{}, struct{ A int32 }{}, new(int64)} {
		if x, err := NewTensor(v); x != nil || !errors.Is(err, millrace.ErrSchema) {
			t.Errorf("NewTensor(%T): %v, %v", v, x, err)
		}
	}
}

func TestNamesThatCannotRun(t *testing.T) {
	for _, name := range []string{"const/0/[1 2]", "a b", "_x", "/", "x:0", "^x", "é"} {
		b := newBuild(t)
		c := b.constant(name, int32(1))
		if got := c.Op.Name(); got != name {
			t.Errorf("name: got %q, want %q", got, name)
		}
		_, err := b.session().Run(nil, []Output{c}, nil)
		if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "Node name contains invalid characters") {
			t.Errorf("run of %q: %v", name, err)
		}
	}
}

// reflect.DeepEqual compares the types and shapes of tensors, as in TensorFlow's
// binding.
func TestDeepEqualTensors(t *testing.T) {
	testruntime.Need(t)
	x, y, z := newTestTensor(t, []string{"a"}), newTestTensor(t, []string{"b"}), newTestTensor(t, []float32{1})
	if !reflect.DeepEqual(x, y) || reflect.DeepEqual(x, z) {
		t.Error("DeepEqual sees more or less than type and shape")
	}
}

// The lengths of the first slices suggest 2^40 elements, which do not exist. The fault
// is noticed before memory is allocated.
func TestRaggedPromise(t *testing.T) {
	testruntime.Need(t)
	numbers, text := make([][]float32, 1<<20), make([][]string, 1<<20)
	numbers[0], text[0] = make([]float32, 1<<20), make([]string, 1<<20)
	for _, v := range []any{numbers, text} {
		x, err := NewTensor(v)
		if x != nil || !errors.Is(err, millrace.ErrSchema) || !strings.Contains(err.Error(), "element [1] has length 0, others 1048576") {
			t.Errorf("NewTensor(%T): %v, %v", v, x, err)
		}
	}
}

func TestStringsNested(t *testing.T) {
	testruntime.Need(t)
	type name string
	want := [][]string{{"a", ""}, {strings.Repeat("long", 20), "\x00"}}
	for _, v := range []any{
		want,
		[2][2]string{{want[0][0], want[0][1]}, {want[1][0], want[1][1]}},
		[][2]string{{want[0][0], want[0][1]}, {want[1][0], want[1][1]}},
		[2][]string{want[0], want[1]},
		[][]name{{name(want[0][0]), name(want[0][1])}, {name(want[1][0]), name(want[1][1])}},
	} {
		if got := newTestTensor(t, v).Value(); !reflect.DeepEqual(got, want) {
			t.Errorf("%T: got %q, want %q", v, got, want)
		}
	}
	for _, v := range []any{name("a"), [1]string{"a"}, []name{"a"}, [1][1][1]name{{{"a"}}}} {
		got, err := newTestTensor(t, v).Strings()
		if err != nil || len(got) != 1 || got[0] != "a" {
			t.Errorf("%T: got %q, %v", v, got, err)
		}
	}
}
