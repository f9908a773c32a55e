package source

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/feed"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// byPosition yields the records of all epochs in the order of the plan. Where
// Millrace's own operations read records, they carry their locations. Otherwise Go
// reads them by their positions and checks them, as [feed.Files] does.
func (r *Records) byPosition() *dataset.Dataset {
	if r.Engine.ReadsNatively() {
		return native.OrderedRecords(r.Scope, r.NativeOrder())
	}
	return r.vectorsInOrder(r.Scope.Const(int64(0))).Unbatch()
}

// GroupsInOrder yields the records that are parsed at once, as vectors: an element
// costs tf.data more time than a record takes to read and to decode.
func (r *Records) GroupsInOrder() *dataset.Dataset { return r.vectorsInOrder(r.Group) }

// vectorsInOrder yields vectors of n records, an int64 scalar; the last one may be
// shorter. For n = 0 a vector has as many as fit the read buffer. A plan that
// [engine.Choice.Seeks] begins at record r.Skip: no record before it is read.
func (r *Records) vectorsInOrder(n tfbridge.Output) *dataset.Dataset {
	after := []tfbridge.Output{n}
	if r.Stop.Op != nil {
		after = append(after, r.Stop)
	}
	return GoScan{
		Name: "read_by_place", Any: "any_records", Fn: feed.InOrder(r.Feed()), Begin: r.Begin(), After: after,
		Results: []graph.Spec{StringVector},
	}.Build(r.Scope)
}

// Begin returns the position of the first record or window where they are read by their positions,
// an int64 scalar.
func (e *Epochs) Begin() tfbridge.Output {
	if e.Engine.Seeks() || e.Epoch.Op != nil {
		return e.Skip
	}
	return e.Scope.Const(int64(0))
}

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
