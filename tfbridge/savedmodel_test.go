package tfbridge

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
)

const models = "../testdata/models/"

// load loads a model, closed with the test.
func load(t testing.TB, name string) *SavedModel {
	t.Helper()
	testruntime.Need(t)
	m, err := LoadSavedModel(models+name, []string{"serve"}, &SessionOptions{IntraOpThreads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestSavedModelSignatures(t *testing.T) {
	m := load(t, "outputs")
	sig, ok := m.Signatures["serving_default"]
	if !ok || len(m.MetaGraph) == 0 {
		t.Fatalf("signatures: %v", m.Signatures)
	}
	got := map[string]string{"": sig.MethodName}
	for name, info := range sig.Inputs {
		got[name] = info.DType.String() + info.Shape.String()
		if o, err := info.Output(m.Graph); err != nil || o.DataType() != info.DType {
			t.Errorf("input %s: %v, %v", name, o, err)
		}
	}
	for name, info := range sig.Outputs {
		got[name] = info.DType.String() + info.Shape.String()
	}
	want := map[string]string{
		"": "tensorflow/serving/predict", "image": "float32[?, 8, 8]", "label": "int64[?]",
		"mean": "float32[?]", "next": "int64[?]", "bright": "bool[?]", "text": "string[?]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSavedModelRun(t *testing.T) {
	tests := []struct {
		model, key string
		in, want   map[string]any
	}{
		{"linear", "serving_default", map[string]any{"x": [][]float32{{1, 2, 4}}}, map[string]any{"y": [][]float32{{6.5, 15.5}}}},
		{"two_signatures", "explain", map[string]any{"x": []float32{2}}, map[string]any{"y": []float32{6}, "weight": float32(3)}},
		{"strings", "serving_default", map[string]any{"text": []string{"mill", ""}}, map[string]any{"length": []int32{4, 0}, "upper": []string{"MILL", ""}}},
		{"vocab", "serving_default", map[string]any{"word": []string{"wheel", "pond"}}, map[string]any{"id": []int64{3, -1}}},
	}
	for _, tt := range tests {
		m := load(t, tt.model)
		in := map[string]*Tensor{}
		for name, v := range tt.in {
			in[name] = newTestTensor(t, v)
		}
		for range 2 {
			out, err := m.Run(t.Context(), tt.key, in)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for name, x := range out {
				got[name] = x.Value()
				x.Close()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tt.model, diff)
			}
		}
	}
}

func TestSavedModelRunRefuses(t *testing.T) {
	m := load(t, "linear")
	x := newTestTensor(t, [][]float32{{1, 2, 3}})
	closed := newTestTensor(t, float32(1))
	closed.Close()
	m.Signatures["broken"] = Signature{Inputs: map[string]TensorInfo{"x": {Name: "nothing:0"}}}
	m.Signatures["port"] = Signature{Inputs: map[string]TensorInfo{"x": {Name: m.Signatures["serving_default"].Inputs["x"].Name[:len("serving_default_x")] + ":7"}}}
	m.Signatures["number"] = Signature{Inputs: map[string]TensorInfo{"x": {Name: "serving_default_x:x"}}}
	tests := []struct {
		key  string
		in   map[string]*Tensor
		want string
	}{
		{"none", nil, `signature "none": no such signature; the model has `},
		{"serving_default", nil, `signature "serving_default": tensor "x": the input is missing`},
		{"serving_default", map[string]*Tensor{"x": x, "y": x}, `tensor "y": no such input; the signature has "x"`},
		{"serving_default", map[string]*Tensor{"x": nil}, `tensor "x": tensor is nil`},
		{"serving_default", map[string]*Tensor{"x": closed}, `tensor "x": tensor is closed`},
		{"serving_default", map[string]*Tensor{"x": newTestTensor(t, [][]int32{{1, 2, 3}})}, `tensor "x": takes type float32, got int32`},
		{"serving_default", map[string]*Tensor{"x": newTestTensor(t, []float32{1, 2, 3})}, `tensor "x": takes shape [?, 3], got [3]`},
		{"broken", map[string]*Tensor{"x": x}, `signature "broken": tensor "x": no tensor "nothing:0" in the graph`},
		{"port", map[string]*Tensor{"x": x}, `there is no output 7`},
		{"number", map[string]*Tensor{"x": x}, `no tensor "serving_default_x:x" in the graph`},
	}
	for _, tt := range tests {
		out, err := m.Run(t.Context(), tt.key, tt.in)
		if out != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v, %v\nwant %s", tt.key, out, err, tt.want)
		}
	}
	m.Close()
	if _, err := m.Run(t.Context(), "serving_default", map[string]*Tensor{"x": x}); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("run of a closed model: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	var none *SavedModel
	if err := none.Close(); err != nil {
		t.Errorf("Close of nil: %v", err)
	}
}

// A run computes the outputs that it names. Without names it computes all that
// can be fetched.
func TestSavedModelOutputs(t *testing.T) {
	m := load(t, "two_signatures")
	in := map[string]*Tensor{"x": newTestTensor(t, []float32{2})}
	sig := m.Signatures["explain"]
	sig.Outputs["handle"] = TensorInfo{Name: "k:0", DType: Resource}
	tests := []struct {
		outputs, want []string
		err           string
	}{
		{nil, []string{"weight", "y"}, ""},
		{[]string{"weight"}, []string{"weight"}, ""},
		{[]string{"y", "weight", "y"}, []string{"weight", "y"}, ""},
		{[]string{"y", "handle"}, nil, `tensor "handle": an output of type resource cannot be fetched`},
		{[]string{"z"}, nil, `tensor "z": no such output; the signature has "handle", "weight", "y"`},
	}
	for _, tt := range tests {
		noneLeft := leak.Objects(t, Live)
		out, err := m.Run(t.Context(), "explain", in, tt.outputs...)
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) || tt.err == "" && err != nil {
			t.Errorf("%q: %v", tt.outputs, err)
		}
		if got := slices.Sorted(maps.Keys(out)); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.outputs, got, tt.want)
		}
		for _, x := range out {
			x.Close()
		}
		noneLeft()
	}
	delete(sig.Outputs, "y")
	delete(sig.Outputs, "weight")
	m.Signatures["other"] = sig
	if out, err := m.Run(t.Context(), "other", in); err == nil || !strings.Contains(err.Error(), "type resource") {
		t.Errorf("a signature with nothing to fetch: %v, %v", out, err)
	}
}

// A session cannot fetch a fed output. An output that is also an input is returned as a
// copy.
func TestSavedModelPassesInputs(t *testing.T) {
	m := load(t, "outputs")
	sig := m.Signatures["serving_default"]
	sig.Outputs["same"] = sig.Inputs["label"]
	in := map[string]*Tensor{"image": newTestTensor(t, [][8][8]float32{{}, {}}), "label": newTestTensor(t, []int64{6, 8})}
	for _, outputs := range [][]string{nil, {"same"}, {"next", "same"}} {
		noneLeft := leak.Objects(t, Live)
		out, err := m.Run(t.Context(), "serving_default", in, outputs...)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(len(outputs), len(sig.Outputs)*(1-len(outputs))); len(out) != want {
			t.Errorf("%q: %d outputs, want %d", outputs, len(out), want)
		}
		if next := out["next"]; next != nil && !cmp.Equal(next.Value(), []int64{7, 9}) {
			t.Errorf("next is %v", next.Value())
		}
		same, err := View[int64](out["same"])
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(same, []int64{6, 8}) {
			t.Errorf("%q: same is %v", outputs, same)
		}
		same[0] = 0
		closeAll(slices.Collect(maps.Values(out)))
		if !cmp.Equal(in["label"].Value(), []int64{6, 8}) {
			t.Errorf("%q: the input is %v", outputs, in["label"].Value())
		}
		noneLeft()
	}
	text, err := copyTensor(newTestTensor(t, [][]string{{"mill", ""}}))
	if err != nil || !cmp.Equal(text.Value(), [][]string{{"mill", ""}}) {
		t.Errorf("copied %v, %v", text, err)
	}
	text.Close()
}

func TestLoadSavedModelRefuses(t *testing.T) {
	testruntime.Need(t)
	cut := t.TempDir()
	pb, err := os.ReadFile(models + "linear/saved_model.pb")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cut, "saved_model.pb"), pb[:len(pb)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		dir  string
		tags []string
		o    *SessionOptions
		want string
	}{
		{t.TempDir(), []string{"serve"}, nil, "not found"},
		{models + "linear", []string{"train"}, nil, "train"},
		{models + "linear", nil, nil, "not found"},
		{cut, []string{"serve"}, nil, ""},
		{"a\x00b", nil, nil, "holds a NUL"},
		{models + "linear", []string{"serve"}, &SessionOptions{Config: []byte("\xff")}, "Unparseable"},
	}
	for _, tt := range tests {
		noneLeft := leak.Objects(t, Live)
		m, err := LoadSavedModel(tt.dir, tt.tags, tt.o)
		if m != nil || !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v, %v\nwant %s", tt.dir, m, err, tt.want)
		}
		noneLeft()
	}
}

func TestParseSignatures(t *testing.T) {
	pb, err := os.ReadFile(models + "two_signatures/saved_model.pb")
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(pb) { // any result is fine as long as it does not crash
		parseSignatures(pb[n:])
	}
	for _, raw := range []string{"\x2a\x01", "\x2a\x02\x12\x05", "\xff"} {
		if s, err := parseSignatures([]byte(raw)); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("parseSignatures(%q) = %v, %v", raw, s, err)
		}
	}
}

// Repeated loading and closing leaks nothing.
func TestLoadCloseRounds(t *testing.T) {
	testruntime.Need(t)
	rounds := 100
	if testing.Short() || stress {
		rounds = 3
	}
	before := Live()
	for range rounds {
		m, err := LoadSavedModel(models+"linear", []string{"serve"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	if got := Live(); got > before {
		t.Errorf("live after %d rounds: got %d, want at most %d", rounds, got, before)
	}
}
