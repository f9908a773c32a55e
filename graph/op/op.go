package op

import (
	"millrace/graph"
	tf "millrace/tfbridge"
)

// Scope adds operations to a graph, under a name prefix. It is
// [graph.Scope]: functions of both packages can share one.
type Scope = graph.Scope

// NewScope returns a scope of a new graph, which the caller closes.
func NewScope() *Scope { return graph.NewScope() }

// NewScopeWithGraph returns a scope that adds to a graph which may hold
// operations already. The graph stays the caller's.
func NewScopeWithGraph(g *tf.Graph) *Scope { return graph.NewScopeWithGraph(g) }

// Const adds a constant: a Go value as [tf.NewTensor] takes it, or a
// *tf.Tensor, which stays the caller's.
func Const(scope *Scope, value any) (output tf.Output) { return scope.Const(value) }

// Gradients adds operations that compute the partial derivatives of the sum of all y
// with respect to each x, times dx if that is given. See [graph.Gradients].
func Gradients(scope *Scope, y []tf.Output, x []tf.Output, dx ...tf.Output) (output []tf.Output) {
	return graph.Gradients(scope, y, x, dx...)
}
