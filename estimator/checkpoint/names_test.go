package checkpoint

import (
	"slices"
	"strings"
	"testing"

	"millrace/internal/base/tfproto"
)

// Names of variables are read in both forms, and damaged ones give none.
func TestConstantStrings(t *testing.T) {
	long := strings.Repeat("x", 200)
	two := []*tfproto.TensorShapeProto_Dim{{Size: 2}}
	tests := []struct {
		name string
		dims []*tfproto.TensorShapeProto_Dim
		val  [][]byte
		raw  string
		want []string
	}{
		{"string_val", two, [][]byte{[]byte("ab"), []byte("c")}, "", []string{"ab", "c"}},
		{"tensor_content", two, nil, "\x02\x01abc", []string{"ab", "c"}},
		{"scalar", nil, nil, "\x02ab", []string{"ab"}},
		{"empty and long", two, nil, "\x00\xc8\x01" + long, []string{"", long}},
		{"cut", two, nil, "\x02\x01ab", nil},
		{"no lengths", two, nil, "\xff", nil},
		{"too many", []*tfproto.TensorShapeProto_Dim{{Size: 1 << 62}, {Size: 4}}, nil, "\x02ab", nil},
		{"negative", []*tfproto.TensorShapeProto_Dim{{Size: -1}}, nil, "\x02ab", nil},
	}
	for _, test := range tests {
		tensor := &tfproto.TensorProto{TensorShape: &tfproto.TensorShapeProto{Dim: test.dims}, StringVal: test.val, TensorContent: []byte(test.raw)}
		if got := constantStrings(tensor); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
