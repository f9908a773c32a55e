package argcheck

import (
	"strings"
	"testing"

	"millrace/dtype"
)

// The table can be read: Of answers from it.
func TestTable(t *testing.T) {
	if _, err := table(); err != nil {
		t.Fatal(err)
	}
	if len(Of("TensorListReserve")) == 0 || len(Of("Add")) != 0 {
		t.Error("TensorListReserve has no rule, or Add has one")
	}
}

func TestParse(t *testing.T) {
	for _, table := range []string{"A", "A rank(0)=1\nA rank(0)=1", "A rank(0)", "A rank(x)=1", "A shape(0)=1", "A rank(0)=size", "A rank(0)=9999999999x"} {
		if _, err := parse(table); err == nil {
			t.Errorf("parse(%q): no error", table)
		}
	}
}

func TestCheck(t *testing.T) {
	scalar := func(dt dtype.DataType, ints []int32, longs []int64) Arg {
		return Arg{DType: dt, Data: Integers(ints, longs)}
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
		{"size(0)=1", []Arg{{Shape: []int64{1, 1}}}, ""},
		{"size(0)=1", []Arg{{Shape: []int64{0}}}, "the number of elements of input 0 is 0"},
		{"last(0)<=3", []Arg{{Shape: []int64{9, 4}}}, "the last dimension of input 0 is 4"},
		{"last(0)<=3", []Arg{{}}, ""},
		{"fills(1)<=12", []Arg{{Shape: []int64{2, 3}}, scalar(dtype.Int32, []int32{2}, nil)}, ""},
		{"fills(1)<=12", []Arg{{Shape: []int64{2, 3}}, scalar(dtype.Int32, []int32{3}, nil)}, "is 18; it must be <= 12"},
		{"fills(1)<=12", []Arg{{Shape: []int64{1 << 32}}, scalar(dtype.Int64, nil, []int64{1 << 32})}, "is 9223372036854775807"},
		{"fills(1)<=12", []Arg{{Shape: []int64{0}}, scalar(dtype.Int32, []int32{1 << 30}, nil)}, ""},
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
