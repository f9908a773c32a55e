package estimator

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"millrace/graph/dataset"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// Small models run each operation on one thread, unless the program has said
// otherwise.
func TestSessionOfSmallModels(t *testing.T) {
	own := &tfbridge.SessionOptions{IntraOpThreads: 3}
	for _, tt := range []struct {
		bytes []int64
		set   *tfbridge.SessionOptions
		want  *tfbridge.SessionOptions
	}{
		{nil, nil, &tfbridge.SessionOptions{IntraOpThreads: 1, SoftPlacement: true}},
		{[]int64{1 << 19, 1 << 19}, nil, &tfbridge.SessionOptions{IntraOpThreads: 1, SoftPlacement: true}},
		{[]int64{1 << 19, 1<<19 + 1}, nil, nil},
		{nil, own, own}, {[]int64{1 << 30}, own, own},
	} {
		m := &CheckedModel{saved: &savedmodel.Model{}, options: ModelOptions{Session: tt.set}}
		for _, n := range tt.bytes {
			m.saved.Variables = append(m.saved.Variables, savedmodel.Variable{Bytes: n})
		}
		if got := m.session(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%d bytes: %+v, want %+v", tt.bytes, got, tt.want)
		}
	}
}

// The components of a dataset's elements get the names of the call, or of the fields. A
// component that no model can take is refused by name.
func TestComponentNames(t *testing.T) {
	scalar := dataset.DenseSpec(tfbridge.Float, tfbridge.ScalarShape())
	fields := dataset.FieldsSpec(map[string]*dataset.Structure{"y": scalar, "x": scalar})
	pair := dataset.TupleSpec(scalar, scalar)
	for _, tt := range []struct {
		element     *dataset.Structure
		names, want []string
		problem     string
	}{
		{fields, nil, []string{"x", "y"}, ""},
		{fields, []string{"a", "b"}, []string{"a", "b"}, ""},
		{pair, []string{"b", "a"}, []string{"b", "a"}, ""},
		{pair, nil, nil, "have no names; give them"},
		{pair, []string{"a"}, nil, "1 names for the 2 components"},
		{pair, []string{"a", "a"}, nil, `two components are named "a"`},
		{dataset.TupleSpec(), nil, nil, "the dataset has no components"},
		{dataset.SparseSpec(tfbridge.Float, tfbridge.MakeShape(-1)), []string{"a"}, nil, `component "a" is a`},
	} {
		got, err := componentNames(tt.element, tt.names)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%v named %q: got %q, %v; want %q, %q", tt.element, tt.names, got, err, tt.want, tt.problem)
		}
	}
}
