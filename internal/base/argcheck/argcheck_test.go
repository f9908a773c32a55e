package argcheck

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"millrace/dtype"
)

// The table can be parsed, and Of returns its rules.
func TestTable(t *testing.T) {
	if _, err := table(); err != nil {
		t.Fatal(err)
	}
	if len(Of("TensorListReserve")) == 0 || len(Of("Sub")) != 0 {
		t.Error("TensorListReserve has no rule, or Sub has one")
	}
}

func TestParse(t *testing.T) {
	for _, table := range []string{"A", "A rank(0)=1\nA rank(0)=1", "A rank(0)", "A rank(x)=1", "A shape(0)=1", "A rank(0)=size", "A rank(0)=9999999999x", "A size(0)=4|x"} {
		if _, err := parse(table); err == nil {
			t.Errorf("parse(%q): no error", table)
		}
	}
}

func TestCheck(t *testing.T) {
	scalar := func(dt dtype.DataType, ints []int32, longs []int64) Arg {
		return Arg{DType: dt, Data: Integers(ints, longs)}
	}
	floats := func(v ...float32) Arg {
		a := Arg{DType: dtype.Float, Shape: []int64{int64(len(v))}}
		for _, f := range v {
			a.Data = binary.NativeEndian.AppendUint32(a.Data, math.Float32bits(f))
		}
		return a
	}
	rows := func(n, each int64, longs ...int64) Arg {
		return Arg{DType: dtype.Int64, Shape: []int64{n, each}, Data: Integers(nil, longs)}
	}
	for _, tt := range []struct {
		rule string
		args []Arg
		want string // part of the error, "" for none
	}{
		{"rank(0)=2", []Arg{{Shape: []int64{3, 4}}}, ""},
		{"rank(0)=2", []Arg{{Shape: []int64{3}}}, "the rank of input 0 is 1; it must be = 2"},
		{"rank(1)>=rank(0)-1", []Arg{{Shape: []int64{2, 2}}, {Shape: []int64{2}}}, ""},
		{"rank(1)>=rank(0)-1", []Arg{{Shape: []int64{2, 2}}, {}}, "must be >= 1"},
		{"each(2)=2", []Arg{{}, {Shape: []int64{3}}, {Shape: []int64{3, 2}}}, ""},
		{"each(2)=2", []Arg{{}, {Shape: []int64{3}}, {Shape: []int64{3, 3}}}, "is 3; it must be = 2"},
		{"each(2)=2", []Arg{{}, {Shape: []int64{3}}, {Shape: []int64{7}}}, "is -1; it must be = 2"},
		{"each(2)=2", []Arg{{}, {Shape: []int64{0}}, {Shape: []int64{0, 9}}}, ""},
		{"each(2)=2", []Arg{{}, {Shape: []int64{3}}, {}}, ""},
		{"slice(1)=2", []Arg{{}, {Shape: []int64{9, 2}}}, ""},
		{"slice(1)=2", []Arg{{}, {Shape: []int64{9, 1}}}, "the number of elements of a row of input 1 is 1; it must be = 2"},
		{"size(0)=1", []Arg{{Shape: []int64{1, 1}}}, ""},
		{"size(0)=1", []Arg{{Shape: []int64{0}}}, "the number of elements of input 0 is 0"},
		{"last(0)<=3", []Arg{{Shape: []int64{9, 4}}}, "the last dimension of input 0 is 4"},
		{"last(0)<=3", []Arg{{}}, ""},
		{"fills(1)<=12", []Arg{{Shape: []int64{2, 3}}, scalar(dtype.Int32, []int32{2}, nil)}, ""},
		{"fills(1)<=12", []Arg{{Shape: []int64{2, 3}}, scalar(dtype.Int32, []int32{3}, nil)}, "is 18; it must be <= 12"},
		{"fills(1)<=12", []Arg{{Shape: []int64{1 << 32}}, scalar(dtype.Int64, nil, []int64{1 << 32})}, "is 9223372036854775807"},
		{"fills(1)<=12", []Arg{{Shape: []int64{0}}, scalar(dtype.Int32, []int32{1 << 30}, nil)}, ""},
		{"bytes(0)<=7", []Arg{{Bytes: 8}}, "the number of bytes of all strings of input 0 is 8"},
		{"joined(2)<=7", []Arg{{Bytes: 2}, {Shape: []int64{3}, Bytes: 1}}, ""},
		{"joined(2)<=7", []Arg{{Bytes: 2}, {Shape: []int64{3}, Bytes: 2}}, "is 8"},
		{"joined(2)<=7", []Arg{{Bytes: 1 << 62}, {Shape: []int64{1 << 40}, Bytes: 1 << 62}}, "is 9223372036854775807"},
		{"crossed(2)<=7", []Arg{{Shape: []int64{2}, Bytes: 2}, {Shape: []int64{2}, Bytes: 2}}, ""},
		{"crossed(2)<=7", []Arg{{Shape: []int64{2, 1}, Bytes: 2}, {Shape: []int64{2}, Bytes: 2}}, "is 8"},
		{"repeats(1)<=7", []Arg{{Bytes: 2}, scalar(dtype.Int32, []int32{2, 2}, nil)}, "is 8"},
		{"filledwith(0)<=7", []Arg{scalar(dtype.Int32, []int32{2, 2}, nil), {Longest: 2}}, "is 8"},
		{"picks(1)<=7", []Arg{{Shape: []int64{9, 2}, Bytes: 30, Longest: 2}, {Shape: []int64{2}}}, "is 8"},
		{"picks(1)<=7", []Arg{{Shape: []int64{2, 2}, Bytes: 3, Longest: 2}, {Shape: []int64{2}}}, ""},
		{"value(0)<=first(1)", []Arg{scalar(dtype.Int32, []int32{3}, nil), {Shape: []int64{3, 9}}}, ""},
		{"value(0)<=first(1)", []Arg{scalar(dtype.Int32, []int32{4}, nil), {Shape: []int64{3, 9}}}, "must be <= 3"},
		{"value(0)<=slice(1)-1", []Arg{scalar(dtype.Int32, []int32{5}, nil), {Shape: []int64{9, 3, 2}}}, ""},
		{"value(0)<=slice(1)-1", []Arg{scalar(dtype.Int32, []int32{6}, nil), {Shape: []int64{9, 3, 2}}}, "must be <= 5"},
		{"size(0)=4|2", []Arg{{Shape: []int64{2}}}, ""},
		{"size(0)=4|2", []Arg{{Shape: []int64{3}}}, "the number of elements of input 0 is 3; it must be = 4 or 2"},
		{"product(0)<=7", []Arg{scalar(dtype.Int32, []int32{3, 0, 2}, nil)}, ""},
		{"product(0)<=7", []Arg{scalar(dtype.Int64, nil, []int64{1 << 62, 4})}, "the product of all elements of input 0 is 9223372036854775807"},
		{"head(0)<=7", []Arg{scalar(dtype.Int64, nil, []int64{7, 9})}, ""},
		{"head(0)<=7", []Arg{scalar(dtype.Int64, nil, []int64{8, 0})}, "the first element of input 0 is 8"},
		{"finite(0)<=7", []Arg{floats(6.5, -7, 0)}, ""},
		{"finite(0)<=7", []Arg{floats(7.5)}, "of input 0 is 8"},
		{"finite(0)<=7", []Arg{floats(0, float32(math.NaN()))}, "is 9223372036854775807"},
		{"finite(0)<=7", []Arg{floats(float32(math.Inf(-1)))}, "is 9223372036854775807"},
		{"step(0)>=0", []Arg{scalar(dtype.Int64, nil, []int64{0, 3, 3, 9})}, ""},
		{"step(0)>=0", []Arg{scalar(dtype.Int64, nil, []int64{-1, 3})}, "the difference of two elements of input 0 is -1"},
		{"step(0)>=0", []Arg{scalar(dtype.Int64, nil, []int64{0, 3, 2})}, "is -1"},
		{"first(0)<=7", []Arg{{Shape: []int64{8, 1}}}, "the first dimension of input 0 is 8"},
		{"memory(0)<=64", []Arg{{DType: dtype.Double, Shape: []int64{2, 4}}}, ""},
		{"memory(0)<=64", []Arg{{DType: dtype.Double, Shape: []int64{3, 3}}}, "the number of bytes of input 0 is 72"},
		{"memory(0)<=64", []Arg{{DType: dtype.String, Shape: []int64{3}, Bytes: 65}}, "is 65"},
		{"offset(1)<=3", []Arg{{Shape: []int64{2, 4}}, rows(2, 1, 3, 7)}, ""},
		{"offset(1)<=3", []Arg{{Shape: []int64{2, 4}}, rows(2, 1, 3, 8)}, "in the rows before of input 1 is 4"},
		{"offset(1)>=0", []Arg{{Shape: []int64{2, 4}}, rows(2, 1, 3, 3)}, "is -1"},
		{"offset(1)>=0", []Arg{{Shape: []int64{2, 4}}, rows(2, 1, -5, 4)}, "is -5"},
		{"value(0)<=7", []Arg{scalar(dtype.Int32, []int32{-1, 7}, nil)}, ""},
		{"value(0)<=7", []Arg{scalar(dtype.Int32, []int32{1, 8}, nil)}, "the value of input 0 is 8"},
		{"value(0)>=0", []Arg{scalar(dtype.Int64, nil, []int64{-5})}, "the value of input 0 is -5"},
		{"value(0)<=7", []Arg{scalar(dtype.Uint64, nil, []int64{-1})}, "the value of input 0 is 9223372036854775807"},
	} {
		r, err := Parse(tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Check(func(i int) Arg { return tt.args[i] })
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %v\n got %v\nwant %q", tt.rule, tt.args, err, tt.want)
		}
	}
}

// A rule may count inputs from the end, or apply to all inputs from a position on. The
// node determines the number of inputs.
func TestFor(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		inputs int
		want   string
	}{
		{"value(-1)<=7", 3, "value(2)<=7"},
		{"value(-4)<=7", 3, ""},
		{"rank(1+)>=1", 3, "rank(1)>=1 rank(2)>=1"},
		{"rank(1+)>=1", 1, ""},
		{"[T=string]joined(0)<=7", 3, "joined(3)<=7"},
		{"[axis=-1]size(1)=1", 3, "[axis=-1]size(1)=1"},
	} {
		r, err := Parse(tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range r.For(tt.inputs) {
			if again, err := Parse(one.String()); err != nil || again.String() != one.String() {
				t.Errorf("%s: %v", one, err)
			}
			got = append(got, one.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s for %d inputs is %q, want %q", tt.rule, tt.inputs, got, tt.want)
		}
	}
}

// What Scalar says of a rule is what the rule says of scalars.
func TestScalar(t *testing.T) {
	scalar := func(n int64) func(int) Arg {
		return func(int) Arg {
			return Arg{DType: dtype.Int64, Data: binary.LittleEndian.AppendUint64(nil, uint64(n))}
		}
	}
	found := 0
	for op, rules := range All() {
		for _, r := range rules {
			_, largest, ok := r.Scalar()
			if !ok {
				continue
			}
			found++
			if err := r.Check(scalar(largest)); err != nil {
				t.Errorf("%s %s: %d is refused: %v", op, r, largest, err)
			}
			if largest < math.MaxInt64 && r.Check(scalar(largest+1)) == nil {
				t.Errorf("%s %s: %d passes", op, r, largest+1)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d rules allow scalars up to a limit", found)
	}
}
