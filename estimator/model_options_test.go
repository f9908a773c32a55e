package estimator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/observe"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// The check of a model follows the options: its tags, its hash and what is allowed.
func TestModelOptions(t *testing.T) {
	none := strings.Repeat("0", 64)
	for _, tt := range []struct {
		model string
		o     estimator.ModelOptions
		class millrace.Class
		want  string // "": the model is accepted
	}{
		{"constant", estimator.ModelOptions{Tags: []string{"serve"}}, "", ""},
		{"constant", estimator.ModelOptions{Tags: []string{"gone"}}, millrace.ErrModel, "gone"},
		{"constant", estimator.ModelOptions{SHA256: none}, millrace.ErrModel, none},
		{"constant", estimator.ModelOptions{Signatures: []string{"serving_default", "gone"}}, millrace.ErrModel, "gone"},
		{"writes_file", estimator.ModelOptions{}, millrace.ErrUnsafeModel, "ReadFile"},
		{"writes_file", estimator.ModelOptions{AllowOps: []string{"ReadFile"}}, millrace.ErrUnsafeModel, "WriteFile"},
		{"writes_file", estimator.ModelOptions{AllowOps: []string{"ReadFile", "WriteFile"}}, "", ""},
		{"writes_file", estimator.ModelOptions{Unchecked: true}, "", ""},
	} {
		m, err := estimator.ReadModel(modelDir(tt.model), &tt.o)
		switch {
		case tt.want == "":
			if err != nil || m == nil || m.Saved() == nil {
				t.Errorf("%s with %+v: %v, %v", tt.model, tt.o, m, err)
			}
		case m != nil || !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s with %+v: got %v, %v\nwant %s", tt.model, tt.o, m, err, tt.want)
		}
	}
}

// A model reports its folder and how long it was open. A listener may leave events unset.
func TestModelTellsOfItsLife(t *testing.T) {
	var opened []observe.Opened
	var closed []observe.Closed
	for _, l := range []*observe.Listener{{}, {
		Opened: func(e observe.Opened) { opened = append(opened, e) },
		Closed: func(e observe.Closed) { closed = append(closed, e) },
	}} {
		m, err := estimator.LoadModel(modelDir("constant"), &estimator.ModelOptions{Observe: l})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(opened) != 1 || opened[0].Source != modelDir("constant") || opened[0].Duration <= 0 {
		t.Errorf("opened %+v", opened)
	}
	if len(closed) != 1 || closed[0].Source != modelDir("constant") || closed[0].Duration <= 0 || closed[0].Err != nil {
		t.Errorf("closed %+v", closed)
	}
}

// A signature that was not loaded is refused by name in every call. The errors list the
// signatures of the model's file.
func TestSignaturesOfModel(t *testing.T) {
	m := load(t, "linear", "")
	ask := map[string]func() error{
		"Signature": func() error { _, err := m.Signature("gone"); return err },
		"Outputs":   func() error { _, err := m.Outputs("gone", nil); return err },
		"Names":     func() error { _, err := m.Names("gone"); return err },
		"Join": func() error {
			_, err := m.Join(t.Context(), plane(1), &estimator.JoinOptions{Signature: "gone"})
			return err
		},
	}
	for name, f := range ask {
		var e *millrace.Error
		if err := f(); !errors.As(err, &e) || e.Class != millrace.ErrModel || e.File != modelDir("linear") || e.Signature != "gone" || !strings.Contains(e.Msg, `only for ["serving_default"]`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	names, err := m.Names("")
	if err != nil {
		t.Fatal(err)
	}
	x := names.Specs["x"]
	if !slices.Equal(names.Inputs, []string{"x"}) || !slices.Equal(names.Outputs, []string{"y"}) || x.Name != "x" || x.DType != tfbridge.Float {
		t.Errorf("names %+v", names)
	}
	if diff := cmp.Diff([]int64{3}, []int64(x.Shape)); diff != "" {
		t.Errorf("the shape of a row (-want +got)\n%s", diff)
	}
}

// An input that cannot be fed is refused when the model is read.
func TestInputsThatCannotBeFed(t *testing.T) {
	for _, dt := range []tfbridge.DataType{tfbridge.Resource, tfbridge.Variant} {
		var handle tfbridge.Output
		dir := builtModel(t, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
			handle = s.Placeholder(dt, tfbridge.ScalarShape())
			return graph.Identity(s, x)
		}, func(m *tfproto.MetaGraphDef) {
			m.GetSignatureDef()["serving_default"].Inputs["handle"] = info("handle", handle)["handle"]
		})
		m, err := estimator.ReadModel(dir, nil)
		var e *millrace.Error
		if m != nil || !errors.As(err, &e) || e.Class != millrace.ErrModel || e.File != dir || e.Tensor != "handle" || !strings.Contains(e.Msg, "such a tensor cannot be fed") {
			t.Errorf("%v: %v, %v", dt, m, err)
		}
	}
}

// An output whose name is also a training output cannot be requested, and if there are
// several outputs the objective must name the predictions.
func TestObjectiveAndItsOutputs(t *testing.T) {
	two := func(name string) *estimator.Model {
		return loadBuilt(t, builtModel(t, identity, func(m *tfproto.MetaGraphDef) {
			outputs := m.GetSignatureDef()["serving_default"].Outputs
			outputs[name] = outputs["y"]
		}))
	}
	data := estimator.FromOutputs(func(s *graph.Scope) *estimator.Outputs {
		return &estimator.Outputs{Tensors: map[string]tfbridge.Output{"x": s.Const([]float32{1, 2}), "label": s.Const([]float32{1, 2})}}
	})
	for _, name := range []string{"loss", "learning_rate"} {
		o := regression()
		o.Predictions = "y"
		_, err := two(name).Join(t.Context(), data, &estimator.JoinOptions{Objective: o, Outputs: []string{name}})
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrModel || e.Tensor != name || !strings.Contains(e.Msg, "has the name of an output of training") {
			t.Errorf("the output %s: %v", name, err)
		}
	}
	_, err := two("z").Join(t.Context(), data, &estimator.JoinOptions{Objective: regression()})
	if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `to be the predictions; it has ["y" "z"]`) {
		t.Errorf("two outputs: %v", err)
	}
}
