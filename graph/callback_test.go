package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// A Go function is part of the graph like any operation.
func ExampleGoFunction() {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1))
	sum := graph.GoFunction(s, graph.GoFunc{
		Name: "sum",
		Out:  []graph.Spec{{DType: tfbridge.Float, Shape: tfbridge.ScalarShape()}},
		Fn: func(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
			values, err := tfbridge.View[float32](args[0])
			if err != nil {
				return nil, err
			}
			var sum float32
			for _, v := range values {
				sum += v
			}
			t, err := tfbridge.NewTensor(sum)
			return []*tfbridge.Tensor{t}, err
		},
	}, graph.Mul(s, x, x))
	g, err := s.Finalize()
	if err != nil {
		log.Fatal(err)
	}
	sess, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	in, err := tfbridge.NewTensor([]float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	out, err := sess.Run(map[tfbridge.Output]*tfbridge.Tensor{x: in}, sum, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer out[0].Close()
	fmt.Println(sum[0].Shape(), out[0].Value())
	// Output: [] 14
}

var errOwn = errors.New("own error")

func TestGoFunctionFails(t *testing.T) {
	scalar := []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}
	value := func(v any) func() ([]*tfbridge.Tensor, error) {
		return func() ([]*tfbridge.Tensor, error) {
			x, err := tfbridge.NewTensor(v)
			return []*tfbridge.Tensor{x}, err
		}
	}
	tests := []struct {
		name string
		fn   func() ([]*tfbridge.Tensor, error)
		is   error
	}{
		{"error", func() ([]*tfbridge.Tensor, error) { return nil, fmt.Errorf("wrapped: %w", errOwn) }, errOwn},
		{"error class", func() ([]*tfbridge.Tensor, error) { return nil, errOwn }, millrace.ErrIO},
		{"class", func() ([]*tfbridge.Tensor, error) { return nil, millrace.Errorf(millrace.ErrLimit, "x") }, millrace.ErrLimit},
		{"panic", func() ([]*tfbridge.Tensor, error) { panic("ouch") }, millrace.ErrInternal},
		{"no results", func() ([]*tfbridge.Tensor, error) { return nil, nil }, millrace.ErrSchema},
		{"nil result", func() ([]*tfbridge.Tensor, error) { return make([]*tfbridge.Tensor, 1), nil }, millrace.ErrSchema},
		{"type", value(float32(1)), millrace.ErrSchema},
		{"shape", value([]int64{1}), millrace.ErrSchema},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			out := graph.GoFunction(s, graph.GoFunc{Name: "f", Out: scalar,
				Fn: func(context.Context, []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) { return test.fn() }})
			_, err := tryRun(t, s, out...)
			if !errors.Is(err, test.is) {
				t.Errorf("got %v, want it to be %v", err, test.is)
			}
		})
	}
}
