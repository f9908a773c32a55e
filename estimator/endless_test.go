package estimator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"millrace"
	"millrace/estimator"
	"millrace/graph"
	"millrace/loaders"
	"millrace/tfbridge"
)

// watchdog is more than this takes, and less than a hang.
const watchdog = 2 * time.Minute

// endless adds 1 while all values are above -1, which they stay.
func endless(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	in := []graph.Spec{{DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)}}
	cond := s.Func("cond", in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.ReduceAll(s, graph.Less(s, s.Const(float32(-1)), args[0]))}
	})
	body := s.Func("body", in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, args[0], s.Const(float32(1)))}
	})
	return s.Op1("StatelessWhile", map[string]any{
		"T": []tfbridge.DataType{tfbridge.Float}, "cond": tfbridge.FuncName(cond.Name), "body": tfbridge.FuncName(body.Name),
	}, tfbridge.OutputList{x})
}

// A model that loops without end is left when the context ends, and closing it
// ends the loop (E07, V6).
func TestEndlessLoop(t *testing.T) {
	m, err := estimator.LoadModel(builtModel(t, endless, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := scalarPlan(t, m, 1, 2, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var last error
		for _, err := range m.Predict(ctx, &loaders.Source{Plan: p}, nil) {
			last = err
		}
		if !errors.Is(last, millrace.ErrCanceled) || !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("got %v, want a cancellation", last)
		}
		done <- m.Close()
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(watchdog):
		t.Fatal("it hangs")
	}
}
