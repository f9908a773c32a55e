package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

const models = "../testdata/models"

func ExampleLoadModel() {
	m, err := graph.LoadModel("../testdata/models/strings", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	outputs, err := m.Call(context.Background(), "", map[string]any{"text": []string{"mill", "race"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"upper", "length"} {
		fmt.Println(name, outputs[name].Value())
		outputs[name].Close()
	}
	// Output:
	// upper [MILL RACE]
	// length [4 4]
}

func load(t *testing.T, name string, o *graph.ModelOptions) *graph.Model {
	t.Helper()
	m, err := graph.LoadModel(filepath.Join(models, name), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// call runs a signature and returns the values of its outputs.
func call(t *testing.T, m *graph.Model, key string, inputs map[string]any) (map[string]any, error) {
	t.Helper()
	outputs, err := m.Call(t.Context(), key, inputs)
	values := map[string]any{}
	for name, o := range outputs {
		values[name] = o.Value()
		o.Close()
	}
	return values, err
}

func TestModelCall(t *testing.T) {
	m := load(t, "two_signatures", nil)
	got, err := call(t, m, "explain", map[string]any{"x": []float32{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if y, ok := got["y"].([]float32); !ok || len(y) != 2 || got["weight"] == nil {
		t.Errorf("got %v", got)
	}
	own, err := tfbridge.NewTensor([]float32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	same, err := call(t, m, "explain", map[string]any{"x": own})
	if err != nil || !reflect.DeepEqual(same, got) {
		t.Errorf("with a tensor of the caller's: %v, %v", same, err)
	}
	if !reflect.DeepEqual(own.Value(), []float32{1, 2}) {
		t.Error("the caller's tensor was closed or changed")
	}
}

// A model that the policy refuses loads with Unchecked, and runs.
func TestUncheckedModel(t *testing.T) {
	dir := filepath.Join(models, "writes_file")
	if m, err := graph.LoadModel(dir, nil); !errors.Is(err, millrace.ErrUnsafeModel) {
		t.Fatal(m, err)
	}
	m := load(t, "writes_file", &graph.ModelOptions{Unchecked: true})
	if r := m.Saved().Refused; len(r) != 1 || !strings.Contains(r[0].Error(), "ReadFile") {
		t.Errorf("refused: %q", r)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := call(t, m, "", map[string]any{"path": path})
	if err != nil || got["data"] != "text" {
		t.Errorf("got %v, %v", got, err)
	}
	if copied, err := os.ReadFile(path + ".copy"); err != nil || string(copied) != "text" {
		t.Errorf("wrote %q, %v", copied, err)
	}
}

// Many goroutines may call a model while it is closed.
func TestModelConcurrently(t *testing.T) {
	m := load(t, "strings", nil)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 20 {
				got, err := call(t, m, "", map[string]any{"text": []string{fmt.Sprint("n", i)}})
				if errors.Is(err, millrace.ErrClosed) {
					return
				}
				if err != nil || !reflect.DeepEqual(got["upper"], []string{fmt.Sprint("N", i)}) {
					t.Errorf("got %v, %v", got, err)
					return
				}
			}
			if i == 7 {
				m.Close()
			}
		})
	}
	wg.Wait()
}

func TestModelCallFailures(t *testing.T) {
	m := load(t, "strings", nil)
	tests := []struct {
		name, key string
		inputs    map[string]any
		want      []string
	}{
		{"no such signature", "train", nil, []string{`"train"`, `"serving_default"`}},
		{"input missing", "", nil, []string{`"text"`, "missing"}},
		{"unknown input", "", map[string]any{"txt": []string{"a"}}, []string{`"txt"`, `"text"`}},
		{"wrong type", "", map[string]any{"text": []float32{1}}, []string{`"text"`, "takes type string, got float32"}},
		{"wrong shape", "", map[string]any{"text": [][]string{{"a"}}}, []string{`"text"`, "takes shape [?], got [1 1]"}},
		{"no value of a tensor", "", map[string]any{"text": nil}, []string{`"text"`, "nil"}},
		{"ragged", "", map[string]any{"text": [][]string{{"a"}, {}}}, []string{`"text"`}},
		{"number", "", map[string]any{"text": 1}, []string{`"text"`, "1 is not a value of string"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := call(t, m, tt.key, tt.inputs)
			if !errors.Is(err, millrace.ErrModel) {
				t.Fatalf("got %v, want one of class model", err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("got %q, want %q in it", err, w)
				}
			}
		})
	}
}

// The operations that TensorFlow runs as it loads a model are not signatures.
func TestModelSignatures(t *testing.T) {
	for _, name := range []string{"strings", "vocab", "linear"} {
		m := load(t, name, nil)
		if keys := slices.Collect(maps.Keys(m.Signatures())); !slices.Equal(keys, []string{graph.DefaultSignature}) {
			t.Errorf("%s has the signatures %q", name, keys)
		}
	}
}

// A number takes the type that the signature wants, if it can hold it.
func TestModelCallNumbers(t *testing.T) {
	m := load(t, "loop", nil)
	// The type fits, the shape does not.
	if _, err := call(t, m, "", map[string]any{"n": 4}); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "takes shape [?], got []") {
		t.Errorf("4: %v", err)
	}
	if _, err := call(t, m, "", map[string]any{"n": 0.5}); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "0.5 is not a value of int64") {
		t.Errorf("0.5: %v", err)
	}
}

// Slices take the type of the signature too, and are not rounded.
func TestModelCallSlices(t *testing.T) {
	m := load(t, "two_signatures", nil)
	want, err := call(t, m, "explain", map[string]any{"x": []float32{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []any{[]float64{1, 2}, []int{1, 2}, [2]uint8{1, 2}} {
		if got, err := call(t, m, "explain", map[string]any{"x": x}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%T\n got %v, %v\nwant %v", x, got, err, want)
		}
	}
	_, err = call(t, m, "explain", map[string]any{"x": []float64{1, 0.1}})
	if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `tensor "x": element [1] is 0.1`) {
		t.Errorf("got %v", err)
	}
}

func TestModelOpAndExec(t *testing.T) {
	m := load(t, "constant", nil)
	sig := m.Signatures()[graph.DefaultSignature]
	x, err := sig.Inputs["x"].Output(m.Graph())
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Op(x.Op.Name(), x.Index)
	if err != nil || again.String() != x.String() {
		t.Errorf("got %v, %v, want %v", again, err, x)
	}
	if _, err := m.Op("nowhere", 0); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `"nowhere"`) {
		t.Errorf("got %v", err)
	}
	for _, index := range []int{-1, 1} {
		if _, err := m.Op(x.Op.Name(), index); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("output %d: got %v", index, err)
		}
	}
	// The graph of a model may be built on.
	s := graph.NewScopeWithGraph(m.Graph())
	y := graph.NewTensor(s, x).Mul(3).Output()
	in, err := tfbridge.NewTensor([]float32{2})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	values, err := m.Exec(t.Context(), []tfbridge.Output{y}, map[tfbridge.Output]*tfbridge.Tensor{x: in})
	if err != nil {
		t.Fatal(err)
	}
	defer values[0].Close()
	if got := values[0].Value(); !reflect.DeepEqual(got, []float32{6}) {
		t.Errorf("got %v", got)
	}
}

func TestLoadModelRefuses(t *testing.T) {
	if _, err := graph.LoadModel(filepath.Join(models, "writes_file"), nil); !errors.Is(err, millrace.ErrUnsafeModel) {
		t.Errorf("a model that writes a file: %v", err)
	}
	if _, err := graph.LoadModel(t.TempDir(), nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := graph.LoadModel(filepath.Join(models, "constant"), &graph.ModelOptions{SHA256: "00"}); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("another pin: %v", err)
	}
}

func TestImportModel(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1))
	graph.NewTensor(s, x).Mul(2).Output()
	m, err := graph.ImportModel(writeGraph(t, s), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in, err := m.Op("Placeholder", 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Op("Mul", 0)
	if err != nil {
		t.Fatal(err)
	}
	fed, err := tfbridge.NewTensor([]float32{4})
	if err != nil {
		t.Fatal(err)
	}
	defer fed.Close()
	values, err := m.Exec(t.Context(), []tfbridge.Output{out}, map[tfbridge.Output]*tfbridge.Tensor{in: fed})
	if err != nil {
		t.Fatal(err)
	}
	defer values[0].Close()
	if got := values[0].Value(); !reflect.DeepEqual(got, []float32{8}) {
		t.Errorf("got %v", got)
	}
	if _, err := m.Call(t.Context(), "", nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a signature of a GraphDef: %v", err)
	}
}

func TestImportModelRefuses(t *testing.T) {
	s := graphtest.NewScope(t)
	s.Op1("ReadFile", nil, s.Const("/etc/hostname"))
	file := writeGraph(t, s)
	if _, err := graph.ImportModel(file, nil); !errors.Is(err, millrace.ErrUnsafeModel) || !strings.Contains(err.Error(), "ReadFile") {
		t.Errorf("a graph that reads a file: %v", err)
	}
	m, err := graph.ImportModel(file, &graph.ModelOptions{AllowOps: []string{"ReadFile"}})
	if err != nil {
		t.Errorf("allowed: %v", err)
	}
	m.Close()
	junk := filepath.Join(t.TempDir(), "junk.pb")
	if err := os.WriteFile(junk, []byte("no graph at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{junk, t.TempDir(), filepath.Join(t.TempDir(), "missing.pb")} {
		if _, err := graph.ImportModel(name, nil); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// writeGraph writes a scope's graph to a file.
func writeGraph(t *testing.T, s *graph.Scope) string {
	t.Helper()
	g, err := s.Finalize()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "graph.pb")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := g.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	return file
}

// Goroutines that close a model at the same time each wait until it is closed.
func TestCloseByMany(t *testing.T) {
	m := load(t, "vocab", nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
