// Package gradients adds the derivatives of a loss to a graph.
//
//	dw := gradients.Add(s, []tfbridge.Output{loss}, []tfbridge.Output{w, b}, nil)
//
// TensorFlow's C API computes derivatives itself; [graph.Gradients] calls it. It cannot
// differentiate loops, conditions, lists of tensors, and many operations of trained
// models. This package walks the graph in Go instead, with a rule for each type of
// operation, as TensorFlow's Python does. [Rules] and docs/gradients.md list the rules.
//
// [Open] prepares a model's signature: it brings the bodies of functions into the
// graph, where the derivatives can be added.
package gradients
