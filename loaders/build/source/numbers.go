package source

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// Numbers are the numbers of the examples of a plan that shuffles them in buffers, in the
// order in which the plan's own dataset yields the examples, through all epochs. They count
// the examples of all files in the order of these.
type Numbers struct {
	Init *tfbridge.Operation
	Skip tfbridge.Output // int64 scalar, fed to Init: numbers skipped at the start
	Next tfbridge.Output // int64 vector: the next numbers
}

// numbersAtOnce is how many numbers come in one run of a session.
const numbersAtOnce = 1024

// NewNumbers adds the numbers of the examples to the graph of t. Whoever builds must have
// made sure that [order.CheckPlaces] accepts the plan. The failure stays with the scope.
func NewNumbers(t *target.Target) *Numbers {
	e := &Epochs{t}
	t.Skip = t.Scope.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	whole := func(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
		return e.ShuffledNumbers(s, epoch, s.Const(int64(0)))
	}
	d := e.From(whole, e.ShuffledNumbers).Batch(numbersAtOnce, false)
	it := d.WithOptions(&dataset.Options{NoAutotune: true, NoOptimization: true}).Finalize().Iterator("numbers")
	if t.Scope.Err() != nil {
		return nil
	}
	return &Numbers{Init: it.Init, Skip: t.Skip, Next: it.Element[0]}
}
