package op

import (
	"millrace/graph"
	tf "millrace/tfbridge"
)

// Gradients adds operations that compute the partial derivatives of the sum of all y
// with respect to each x, times dx if that is given. See [graph.Gradients].
func Gradients(scope *Scope, y []tf.Output, x []tf.Output, dx ...tf.Output) (output []tf.Output) {
	return graph.Gradients(scope, y, x, dx...)
}
