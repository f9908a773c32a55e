package dtype

import (
	"strings"
	"testing"

	"millrace/internal/base/tfproto"
)

// The numbers are those of TensorFlow's protobuf.
func TestNumbers(t *testing.T) {
	own := map[string]string{ // the other names are the same in Python and in the enum
		"DT_FLOAT": "float32", "DT_DOUBLE": "float64", "DT_HALF": "float16",
	}
	for number, name := range tfproto.DataType_name {
		want := own[name]
		if want == "" {
			want = strings.ToLower(strings.TrimPrefix(name, "DT_"))
		}
		d := DataType(number)
		switch {
		case number == 0:
		case number > refOffset:
			if d.Base() != d-refOffset || !strings.HasSuffix(d.String(), "_ref") {
				t.Errorf("%s is a %v, which refers to a %v", name, d, d.Base())
			}
		case d.String() != want || !d.Known() || d.Base() != d:
			t.Errorf("%s\n got %v\nwant %s", name, d, want)
		}
	}
}

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
	for d := DataType(1); d.Known(); d++ {
		got, ok := Parse(d.String())
		if !ok || got != d {
			t.Errorf("Parse(%q) = %v, %v", d.String(), got, ok)
		}
	}
	for _, name := range []string{"", "Float", "float", "int", "int32 "} {
		if d, ok := Parse(name); ok {
			t.Errorf("Parse(%q) = %v, want none", name, d)
		}
	}
	for name, want := range map[string]DataType{"half": Half, "Double": Double, "bytes": String, "int": Int64} {
		if got, ok := ParseOther(name); !ok || got != want {
			t.Errorf("ParseOther(%q)\n got %v, %v\nwant %v", name, got, ok, want)
		}
	}
	if d, ok := ParseOther("tensor"); ok {
		t.Errorf("ParseOther: got %v for what nobody calls a data type", d)
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
