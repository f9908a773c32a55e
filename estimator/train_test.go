package estimator_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// twoCounters is a model with variables a and b, both 0. Signature train takes
// "x", adds 1 to each and gives the sum of x as "loss"; evaluate takes "x" and
// gives a - b as "difference" and a as "step"; reset takes nothing, sets both to
// 0 and gives 0 as "step".
func twoCounters(t *testing.T) string {
	t.Helper()
	sigs := map[string]*tfproto.SignatureDef{}
	body := func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		variable := func(name string) tfbridge.Output {
			return s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Int64, "shape": tfbridge.ScalarShape(), "shared_name": name})
		}
		a, b := variable("a"), variable("b")
		set := func(s *graph.Scope, op string, v tfbridge.Output, to int64) *tfbridge.Operation {
			return s.AddOperation(tfbridge.OpSpec{Type: op, Input: []tfbridge.Input{v, s.Const(to)}})
		}
		read := func(s *graph.Scope, v tfbridge.Output) tfbridge.Output {
			return s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, v)
		}
		zero := s.WithControlDependencies(set(s, "AssignVariableOp", a, 0), set(s, "AssignVariableOp", b, 0))
		reset := graph.Identity(zero, s.Const(int64(0)))
		// The counters depend on no input, but a step without a batch must not count.
		first := set(s, "AssignAddVariableOp", a, 1)
		second := set(s.WithControlDependencies(pause(s, x, first)), "AssignAddVariableOp", b, 1)
		sum := graph.ReduceSum(s, x)
		loss := graph.Identity(s.WithControlDependencies(second), sum)
		step := read(s.WithControlDependencies(x.Op), a)
		difference := graph.Sub(s, step, read(s.WithControlDependencies(pause(s, x, step.Op)), b))
		sigs["train"] = &tfproto.SignatureDef{Inputs: info("x", x), Outputs: info("loss", loss)}
		sigs["evaluate"] = &tfproto.SignatureDef{Inputs: info("x", x), Outputs: info("difference", difference)}
		sigs["evaluate"].Outputs["step"] = info("step", step)["step"]
		sigs["reset"] = &tfproto.SignatureDef{Outputs: info("step", reset)}
		sigs["__saved_model_init_op"] = &tfproto.SignatureDef{Outputs: info("__saved_model_init_op", reset)}
		return loss
	}
	return builtModel(t, body, func(m *tfproto.MetaGraphDef) { m.SignatureDef = sigs })
}

// pause is an operation after another that takes some time. What depends on
// the batch is not computed in advance.
func pause(s *graph.Scope, x tfbridge.Output, after *tfbridge.Operation) *tfbridge.Operation {
	n := graph.Mul(s, graph.Cast(s, graph.ReduceSum(s, x), tfbridge.Int64), s.Const(int64(30_000)))
	s = s.WithControlDependencies(after)
	return graph.ReduceSum(s, graph.Range(s, s.Const(int64(0)), n, s.Const(int64(1)))).Op
}

// ones gives n batches of one row. Its end is found by a step.
func ones(n int64) estimator.Source {
	return estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, n, 1).Map("one", func(s *graph.Scope, x []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{s.Const(float32(1))}
		}, nil).Batch(1, false)
	}, "x")
}

// trained is a loaded model with a pipeline for each of its signatures.
type trained struct {
	model                  *estimator.Model
	train, evaluate, reset *estimator.Pipeline
}

func loadTrained(t *testing.T, batches int64) *trained {
	t.Helper()
	o := &estimator.ModelOptions{Signatures: []string{"train", "evaluate", "reset"}}
	m, err := estimator.LoadModel(twoCounters(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	join := func(signature string, n int64) *estimator.Pipeline {
		p, err := m.Join(t.Context(), ones(n), &estimator.JoinOptions{Signature: signature})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return &trained{m, join("train", batches), join("evaluate", 1), join("reset", 1)}
}

// value runs a pipeline for one step and returns an output.
func value(ctx context.Context, p *estimator.Pipeline, name string) (v int64, last error) {
	for b, err := range p.Run(ctx, &estimator.RunOptions{Steps: 1}) {
		if err != nil {
			return 0, err
		}
		values, err := tfbridge.View[int64](b.Tensor(name))
		if err != nil {
			return 0, err
		}
		v = values[0]
	}
	return v, last
}

// Signatures of one model share its variables. A step that changes them runs when the loop
// asks for it and not earlier, and the end of the data does not count as a step. So an
// evaluation between two steps sees the variables that the loop saw.
func TestSignaturesShareVariables(t *testing.T) {
	m := loadTrained(t, 5)
	for range 2 {
		steps := int64(0)
		for _, err := range m.train.Run(t.Context(), &estimator.RunOptions{Ahead: 4}) {
			if err != nil {
				t.Fatal(err)
			}
			steps++
			if got, err := value(t.Context(), m.evaluate, "step"); err != nil || got != steps {
				t.Errorf("after %d steps: the variable says %d, %v", steps, got, err)
			}
		}
		if got, err := value(t.Context(), m.evaluate, "step"); err != nil || got != 5 || steps != 5 {
			t.Errorf("at the end, after %d steps: the variable says %d, %v", steps, got, err)
		}
		if _, err := value(t.Context(), m.reset, "step"); err != nil {
			t.Fatal(err)
		}
	}
	for range m.train.Run(t.Context(), nil) {
		break
	}
	if got, err := value(t.Context(), m.evaluate, "step"); err != nil || got != 1 {
		t.Errorf("after a loop of one step: the variable says %d, %v", got, err)
	}
}

// A step that changes variables runs alone: a reader of the variables sees no half-made
// step.
func TestStepsThatChangeVariablesRunAlone(t *testing.T) {
	m := loadTrained(t, 300)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		pipe, err := m.model.Join(ctx, ones(1<<40), &estimator.JoinOptions{Signature: "evaluate"})
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			for b, err := range pipe.Run(ctx, nil) {
				if err != nil {
					if !errors.Is(err, millrace.ErrCanceled) {
						t.Error(err)
					}
					return
				}
				d, err := tfbridge.View[int64](b.Tensor("difference"))
				if err != nil || d[0] != 0 {
					t.Errorf("half of a step: %v, %v", d, err)
					return
				}
			}
		})
	}
	for _, err := range m.train.Run(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	readers.Wait()
}

// A second loop over a pipeline is refused while the first runs; two pipelines of one model
// run at the same time.
func TestPipelinesAtOnce(t *testing.T) {
	m := load(t, "constant", "")
	join := func() *estimator.Pipeline {
		p, err := m.Join(t.Context(), ones(3), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first, second := join(), join()
	outer, inner := 0, 0
	for _, err := range first.Run(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		outer++
		for _, err := range first.Run(t.Context(), nil) {
			if !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("a second loop: %v", err)
			}
		}
		for _, err := range second.Run(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			inner++
		}
	}
	if outer != 3 || inner != 9 {
		t.Errorf("%d and %d steps, want 3 and 9", outer, inner)
	}
}

// A signature that the model was not loaded for is refused.
func TestOtherSignature(t *testing.T) {
	m := load(t, "two_signatures", "serving_default")
	_, err := m.Join(t.Context(), ones(1), &estimator.JoinOptions{Signature: "explain"})
	if !errors.Is(err, millrace.ErrModel) {
		t.Errorf("got %v", err)
	}
}
