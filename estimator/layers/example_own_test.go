package layers_test

import (
	"fmt"
	"os"
	"path/filepath"

	"millrace/estimator/layers"
	"millrace/graph"
	"millrace/tfbridge"
)

// Ramp is an initializer: 0, 1, 2, ... times a step.
type Ramp struct{ Step float32 }

func (r Ramp) Value(s *graph.Scope, shape []int64, _ int64) tfbridge.Output {
	count := int64(1)
	for _, n := range shape {
		count *= n
	}
	numbers := graph.Cast(s, graph.Range(s, s.Const(int64(0)), s.Const(count), s.Const(int64(1))), tfbridge.Float)
	return graph.Reshape(s, graph.Mul(s, numbers, s.Const(r.Step)), s.Const(shape))
}

// Scale is a layer: it multiplies each feature by a variable, and counts the steps of
// training in another.
func Scale(n *layers.Net, x tfbridge.Output, name string) tfbridge.Output {
	name = n.Layer(name, "scale")
	features := graph.SpecOf(x).Shape.Size(1)
	factor := n.Variable(name+"/factor", []int64{features}, &layers.VariableOptions{Initializer: Ramp{Step: 0.5}})
	steps := n.Variable(name+"/steps", nil, &layers.VariableOptions{Initializer: layers.Zeros, NotTrainable: true})
	n.Update(name+"/steps", graph.Add(n.Scope, steps, n.Const(float32(1))))
	return graph.Mul(n.Scope, x, factor)
}

// A layer and an initializer from outside the package. A layer is a function; two layers
// of one name are refused.
func Example_own() {
	dir, err := os.MkdirTemp("", "own")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	model := func(second string) *layers.Model {
		return &layers.Model{
			Features: []layers.TensorSpec{{Name: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 3)}},
			Modes:    []layers.Mode{layers.Predict},
			Function: func(n *layers.Net, features, _ layers.Tensors) *layers.Spec {
				y := Scale(n, Scale(n, features["x"], "first"), second)
				return &layers.Spec{Predictions: layers.Tensors{"y": y}}
			},
		}
	}
	fmt.Println(layers.Save(filepath.Join(dir, "good"), model("second")))
	fmt.Println(layers.Save(filepath.Join(dir, "bad"), model("first")))
	// Output:
	// <nil>
	// add layer: first: another layer has this name; give one of them another
}
