package decl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"millrace/diag"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// shape is a declared object with every rule there is.
type shape struct {
	decl.Object
	Name   string                      `json:"name" decl:"required,nonempty,label=shape" doc:"What it is called."`
	Kind   string                      `json:"kind" decl:"required"`
	Args   any                         `json:"args" decl:"variant=kind"`
	Count  int64                       `json:"count" decl:"default=3,min=1,limit=10"`
	Small  int64                       `json:"small" decl:"max=5"`
	Last   *int64                      `json:"last" decl:"null"`
	Colour *string                     `json:"colour" decl:"null,enum=red|green"`
	Filled bool                        `json:"filled" decl:"default=true"`
	Sizes  []int64                     `json:"sizes" decl:"nonempty,most=3,items.min=0"`
	Parts  []part                      `json:"parts" decl:""`
	Either decl.Either[bool, []string] `json:"either" decl:"items.nonempty"`
	Value  *jsonpos.Node               `json:"value" decl:""`
}

type part struct {
	decl.Object
	X int64 `json:"x" decl:"required"`
}

func (*shape) Variants(string) []decl.Variant {
	return []decl.Variant{
		{Name: "circle", New: func() any { return new(circle) }},
		{Name: "square", New: func() any { return new(square) }},
	}
}

type circle struct {
	decl.Object
	Radius int64 `json:"radius" decl:"required"`
}

type square struct {
	decl.Object
	Side  int64 `json:"side" decl:"default=1"`
	Round bool  `json:"round" decl:""`
}

var (
	errWrong = errors.New("wrong")
	errMuch  = errors.New("too much")
)

func decode(t *testing.T, src string) (*shape, diag.List) {
	t.Helper()
	n, err := jsonpos.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	r := &decl.Reporter{File: "f", Class: errWrong, Limit: errMuch}
	s := &shape{}
	r.Decode(n, s)
	l := r.Finish()
	l.Sort()
	return s, l
}

func TestDecode(t *testing.T) {
	s, problems := decode(t, `{"name": "a", "kind": "circle", "args": {"radius": 4}, "last": null, "colour": "red", "filled": false,
		"sizes": [0, 7], "parts": [{"x": -1}], "either": ["b"], "value": 2.50}`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	red, b := "red", []string{"b"}
	want := &shape{Name: "a", Kind: "circle", Args: &circle{Radius: 4}, Count: 3, Colour: &red,
		Sizes: []int64{0, 7}, Parts: []part{{X: -1}}, Either: decl.Either[bool, []string]{B: &b}}
	ignore := []cmp.Option{cmpopts.IgnoreTypes(decl.Object{}, &jsonpos.Node{})}
	if diff := cmp.Diff(want, s, ignore...); diff != "" {
		t.Errorf("Decode (-want +got):\n%s", diff)
	}
	if s.Value.Raw() != "2.50" || !s.Has("value") || s.Has("small") || s.Key("sizes").Elem(1).Raw() != "7" {
		t.Error("the places of values are not kept")
	}
	s, problems = decode(t, `{"name": "a", "kind": "square"}`)
	if len(problems) > 0 || s.Args.(*square).Side != 1 || !s.Filled || s.Either.A != nil {
		t.Errorf("defaults: %+v, %v", s, problems)
	}
}

func TestProblems(t *testing.T) {
	const ok = `"name": "a", "kind": "square"`
	tests := []struct{ name, src, want string }{
		{"no object", `[]`, `f:1:1: must be an object, got a list`},
		{"missing keys", `{}`, `f:1:1: missing keys "name" and "kind"`},
		{"missing in variant", `{"name": "a", "kind": "circle"}`, `f:1:1: args: shape "a": missing key "radius"`},
		{"missing in list", `{` + ok + `, "parts": [{}]}`, `f:1:43: parts[0]: shape "a": missing key "x"`},
		{"unknown key", `{` + ok + `, "cuont": 1}`, `f:1:33: cuont: shape "a": unknown key "cuont"; did you mean "count"?`},
		{"wrong case", `{` + ok + `, "Filled": true}`, `f:1:33: Filled: shape "a": unknown key "Filled"; did you mean "filled"?`},
		{"unknown key in part", `{` + ok + `, "parts": [{"x": 1, "zzz": 1}]}`, `f:1:52: parts[0].zzz: shape "a": unknown key "zzz"; the only key is "x"`},
		{"repeated key", `{` + ok + `, "kind": "circle"}`, `f:1:33: kind: shape "a": repeated key "kind"; it was given at 1:15 already`},
		{"other variant's key", `{` + ok + `, "args": {"radius": 1}}`, `f:1:42: args.radius: shape "a": "square" has no key "radius"; it belongs to "circle"`},
		{"unknown variant", `{"name": "a", "kind": "triangle", "args": {"side": "x"}}`,
			`f:1:23: kind: shape "a": must be "circle" or "square", got "triangle"` + "\n" + `f:1:52: args.side: shape "a": must be an integer, got "x"`},
		{"no variant", `{"name": "a", "args": {"side": 1, "radius": 2}}`, `f:1:1: shape "a": missing key "kind"`},
		{"args no object", `{` + ok + `, "args": 1}`, `f:1:41: args: shape "a": must be an object, got 1`},
		{"empty name", `{"name": "", "kind": "square"}`, `f:1:10: name: must not be empty`},
		{"name is a number", `{"name": 7, "kind": "square"}`, `f:1:10: name: must be a string, got 7`},
		{"boolean for integer", `{` + ok + `, "count": true}`, `f:1:42: count: shape "a": must be an integer, got true`},
		{"fraction", `{` + ok + `, "count": 2.0}`, `f:1:42: count: shape "a": must be an integer, got 2.0`},
		{"text", `{` + ok + `, "count": "2"}`, `f:1:42: count: shape "a": must be an integer, got "2"; write 2 without quotes`},
		{"null", `{` + ok + `, "count": null}`, `f:1:42: count: shape "a": must be an integer, got null`},
		{"too small", `{` + ok + `, "count": 0}`, `f:1:42: count: shape "a": must be at least 1, got 0`},
		{"too much", `{` + ok + `, "count": 11}`, `f:1:42: count: shape "a": must be at most 10, got 11`},
		{"far too much", `{` + ok + `, "count": 99999999999999999999}`, `f:1:42: count: shape "a": must be at most 10, got 99999999999999999999`},
		{"no int64", `{` + ok + `, "last": 9223372036854775808}`, `f:1:41: last: shape "a": must be at most 9223372036854775807, got 9223372036854775808`},
		{"no int64 below", `{` + ok + `, "small": -9223372036854775809}`, `f:1:42: small: shape "a": must be at least -9223372036854775808, got -9223372036854775809`},
		{"nullable", `{` + ok + `, "last": "null"}`, `f:1:41: last: shape "a": must be an integer or null, got "null"; write null without quotes`},
		{"enum", `{` + ok + `, "colour": "reed"}`, `f:1:43: colour: shape "a": must be "red", "green" or null, got "reed"; did you mean "red"?`},
		{"boolean", `{` + ok + `, "filled": "true"}`, `f:1:43: filled: shape "a": must be a boolean, got "true"; write true without quotes`},
		{"empty list", `{` + ok + `, "sizes": []}`, `f:1:42: sizes: shape "a": must not be empty`},
		{"long list", `{` + ok + `, "sizes": [1,2,3,4]}`, `f:1:42: sizes: shape "a": has 4 elements; at most 3 are allowed`},
		{"item", `{` + ok + `, "sizes": [1, -1, "2"]}`, `f:1:46: sizes[1]: shape "a": must be at least 0, got -1` + "\n" + `f:1:50: sizes[2]: shape "a": must be an integer, got "2"; write 2 without quotes`},
		{"neither", `{` + ok + `, "either": 1}`, `f:1:43: either: shape "a": must be a boolean or a list, got 1`},
		{"either's item", `{` + ok + `, "either": [""]}`, `f:1:44: either[0]: shape "a": must not be empty`},
		{"no value", `{` + ok + `, "value": null}`, `f:1:42: value: shape "a": must not be null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := decode(t, tt.src)
			if got := problems.Error(); got != tt.want {
				t.Errorf("Decode(%s)\n got %s\nwant %s", tt.src, got, tt.want)
			}
		})
	}
}

func TestClasses(t *testing.T) {
	_, much := decode(t, `{"name": "a", "kind": "square", "count": 11}`)
	if !errors.Is(much, errMuch) || errors.Is(much, errWrong) {
		t.Errorf("above a limit: %v", much[0].Class)
	}
	_, wrong := decode(t, `{"name": "a", "kind": "square", "small": 6}`)
	if !errors.Is(wrong, errWrong) || errors.Is(wrong, errMuch) {
		t.Errorf("above a maximum: %v", wrong[0].Class)
	}
}

// TestMany makes more problems than are shown.
func TestMany(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `, "key%d": 0`, i)
	}
	_, problems := decode(t, `{"name": "a", "kind": "square"`+b.String()+`}`)
	if len(problems) != 1001 || !strings.Contains(problems.Error(), "4000 more problems") {
		t.Errorf("%d problems, the first of them %v", len(problems), problems[0])
	}
}

func TestSchema(t *testing.T) {
	text, err := decl.Schema(&shape{}, decl.SchemaOptions{Title: "shape"})
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t, text)
	tests := []struct {
		src  string
		good bool
	}{
		{`{"name": "a", "kind": "square"}`, true},
		{`{"name": "a", "kind": "circle", "args": {"radius": 1}, "last": null, "colour": null, "either": true, "value": [1]}`, true},
		{`{"name": "a", "kind": "circle"}`, false},
		{`{"name": "a", "kind": "circle", "args": {}}`, false},
		{`{"name": "a", "kind": "circle", "args": {"radius": 1, "side": 1}}`, false},
		{`{"name": "a", "kind": "line"}`, false},
		{`{"name": "", "kind": "square"}`, false},
		{`{"name": "a", "kind": "square", "count": 11}`, false},
		{`{"name": "a", "kind": "square", "count": true}`, false},
		{`{"name": "a", "kind": "square", "colour": "blue"}`, false},
		{`{"name": "a", "kind": "square", "sizes": []}`, false},
		{`{"name": "a", "kind": "square", "sizes": [1, 2, 3, 4]}`, false},
		{`{"name": "a", "kind": "square", "parts": [{"y": 1}]}`, false},
		{`{"name": "a", "kind": "square", "either": "x"}`, false},
		{`{"name": "a", "kind": "square", "value": null}`, false},
		{`{"name": "a", "kind": "square", "other": 1}`, false},
	}
	for _, tt := range tests {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.src))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != tt.good {
			t.Errorf("the schema on %s: %v", tt.src, err)
		}
		if _, problems := decode(t, tt.src); problems.HasErrors() == tt.good {
			t.Errorf("Decode on %s: %v", tt.src, problems)
		}
	}
}

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestMarshal(t *testing.T) {
	s, _ := decode(t, `{"name": "a", "kind": "circle", "args": {"radius": 1}, "either": ["x"]}`)
	text, err := json.Marshal(s.Either)
	if err != nil || string(text) != `["x"]` {
		t.Errorf("Marshal = %s, %v", text, err)
	}
}
