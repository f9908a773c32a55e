package layers

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// Parts of a step that contradict each other are errors that name the variable or the part.
func TestPartErrors(t *testing.T) {
	for want, edit := range map[string]func(p *Part){
		`both train the variable "a/kernel"`:            func(p *Part) { p.Variables = nil },
		`the loss "second" depends on no variable`:      func(p *Part) { p.Variables = []string{"c/"} },
		"a further part of a step needs a name":         func(p *Part) { p.Name = "loss" },
		`two outputs are called "y"`:                    func(p *Part) { p.Name = "y" },
		"a name of its own, a scalar loss and an optim": func(p *Part) { p.Optimizer = nil },
	} {
		s := graph.NewScope()
		m := &Model{
			Features: []TensorSpec{{Name: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 2)}},
			Function: func(n *Net, features, _ Tensors) *Spec {
				a := Dense(n, features["x"], 1, &DenseOptions{Name: "a"})
				b := Dense(n, a, 1, &DenseOptions{Name: "b"})
				part := Part{Name: "second", Loss: graph.ReduceSum(n.Scope, b), Optimizer: optimizer.NewSGD(), Variables: []string{"b/"}}
				edit(&part)
				return &Spec{
					Predictions: Tensors{"y": b}, Loss: graph.ReduceSum(n.Scope, a), Optimizer: optimizer.NewAdam(), Also: []Part{part},
				}
			},
		}
		if _, err := m.build(s); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		s.Graph().Close()
	}
}
