package losses_test

import (
	"context"
	"fmt"

	"millrace/estimator/losses"
	"millrace/graph"
	"millrace/tfbridge"
)

// Quantile is the loss whose best prediction is a quantile of the labels: predictions
// that are too low cost Share, those that are too high the rest.
type Quantile struct{ Share float32 }

func (q Quantile) Name() string { return "quantile" }

func (q Quantile) Values(s *graph.Scope, labels, predictions tfbridge.Output) tfbridge.Output {
	missing := graph.Sub(s, labels, predictions)
	low := graph.Mul(s, missing, s.Const(q.Share))
	high := graph.Mul(s, missing, s.Const(q.Share-1))
	return s.Op1("Mean", nil, graph.Maximum(s, low, high), s.Const(int32(-1)))
}

// A loss from outside the package: a type with two methods. Weights and reductions work.
func ExampleFunction() {
	s := graph.NewScope()
	defer s.Graph().Close()
	loss := &losses.Loss{Function: Quantile{Share: 0.75}}
	value := loss.Add(s, losses.Values{
		Labels: s.Const([][]float32{{4}, {1}}), Predictions: s.Const([][]float32{{2}, {3}}), Weights: s.Const([]float32{1, 2}),
	})
	out, err := graph.Exec(context.Background(), s, []tfbridge.Output{value}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer out[0].Close()
	fmt.Println(out[0].Value()) // (1 * 1.5 + 2 * 0.5) / 2
	// Output: 1.25
}
