package opgen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/base/tfproto"
)

// sample is an operation with a bit of everything.
func sample() *tfproto.OpDef {
	return &tfproto.OpDef{
		Name: "Sample",
		InputArg: []*tfproto.OpDef_ArgDef{
			{Name: "dim", TypeAttr: "T"},
			{Name: "type", TypeAttr: "T", NumberAttr: "N"},
			{Name: "rest", TypeListAttr: "Targs"},
			{Name: "ref", Type: tfproto.DataType_DT_HALF, IsRef: true},
		},
		OutputArg: []*tfproto.OpDef_ArgDef{
			{Name: "ref", TypeAttr: "T"},
			{Name: "outputs", TypeListAttr: "Tout"},
		},
		Attr: []*tfproto.OpDef_AttrDef{
			{Name: "T", Type: "type", AllowedValues: types(tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_DOUBLE)},
			{Name: "N", Type: "int", HasMinimum: true, Minimum: 2},
			{Name: "Targs", Type: "list(type)"},
			{Name: "Tout", Type: "list(type)", HasMinimum: true, Minimum: 1},
			{Name: "f", Type: "func"},
			{Name: "squeeze_dims", Type: "list(int)", DefaultValue: &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{}}}},
		},
		Deprecation: &tfproto.OpDeprecation{Version: 7, Explanation: "Use Other"},
	}
}

// types returns a list of data types as an attribute's value.
func types(t ...tfproto.DataType) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: t}}}
}

func TestGenerate(t *testing.T) {
	names, err := ParseNames("# comment\n\narg Sample dim axis\nattr Sample squeeze_dims axes\n")
	if err != nil {
		t.Fatal(err)
	}
	files, err := Generate([]*tfproto.OpDef{sample()}, &Tables{Names: names, Summaries: map[string]string{"Sample": "does a bit of everything."}})
	if err != nil {
		t.Fatal(err)
	}
	want := header + `
// SampleAttr is an optional attribute of [Sample].
type SampleAttr attr

// SampleAxes sets the attribute squeeze_dims; the default is [].
func SampleAxes(value []int64) SampleAttr { return SampleAttr{"squeeze_dims", value} }

// Sample does a bit of everything.
//
// Parameters:
//   - axis: T
//   - type_: list of N × T
//   - rest: list of the types Targs
//   - ref: reference to float16
//   - Tout: a list of data types, not empty
//   - f: a function of the graph
//
// Results:
//   - ref_out: T
//   - outputs: list of the types Tout
//
// T is float32 or float64.
//
// N is at least 2.
//
// Options: [SampleAxes].
//
// Deprecated: since version 7 of graphs: Use Other.
func Sample(scope *Scope, axis tf.Output, type_ []tf.Output, rest []tf.Output, ref tf.Output, Tout []tf.DataType, f tf.FuncName, optional ...SampleAttr) (ref_out tf.Output, outputs []tf.Output) {
	made := add(scope, "Sample", attrs(optional, attr{"Tout", Tout}, attr{"f", f}), axis, tf.OutputList(type_), tf.OutputList(rest), ref)
	return made.one(), made.list("outputs")
}
`
	if diff := cmp.Diff(want, string(files["s_gen.go"])); diff != "" || len(files) != 1 {
		t.Errorf("%d files (-want +got)\n%s", len(files), diff)
	}
}

func TestGenerateMistakes(t *testing.T) {
	strange := sample()
	strange.Attr[4].Type = "list(any)"
	tests := []struct {
		name      string
		op        *tfproto.OpDef
		summaries map[string]string
		want      string
	}{
		{"no summary", sample(), nil, "summaries.txt has no line for Sample"},
		{"too many", sample(), map[string]string{"Sample": "does.", "Gone": "did."}, "Gone, which is not a public operation"},
		{"strange attribute", strange, map[string]string{"Sample": "does."}, `attribute f of Sample is of type "list(any)"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Generate([]*tfproto.OpDef{tt.op}, &Tables{Names: &Names{}, Summaries: tt.summaries})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n got %v\nwant one with %q", err, tt.want)
			}
		})
	}
}

func TestTableMistakes(t *testing.T) {
	if _, err := ParseNames("arg Sample dim\n"); err == nil || !strings.Contains(err.Error(), "names.txt:1") {
		t.Errorf("a line of names.txt that is too short: %v", err)
	}
	for _, text := range []string{"Abs\n", "Abs\tno period\n", "B\tdoes.\nA\tdoes.\n"} {
		if _, err := ParseSummaries(text); err == nil || !strings.Contains(err.Error(), "summaries.txt:") {
			t.Errorf("summaries %q: %v", text, err)
		}
	}
}
