package source

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// # How batches end with their epochs
//
// The question: a batch operation joins whatever comes, and where one epoch's elements follow
// those of the one before, a batch may have examples of both.
//
// The answer: the stages up to the batches are built for one epoch, in a function of its number.
// What begins an epoch in a resumed run is the same as in one that was not stopped:
//
//	usual     epochs ── records ── parse ── batch
//	here      epoch number ── [ records of the epoch ── parse ── batch ]  one after the other
//
// A run that continues at a position inside of an epoch begins there, at the beginning of a batch.

// Each builds all epochs by a function that builds the elements of one, for a target with its
// number. They begin at the element that is fed, where the plan seeks or replays.
func (e *Epochs) Each(build func(inner *target.Target) *dataset.Dataset) *dataset.Dataset {
	lengths := e.lengths()
	return dataset.RangeOutput(e.Scope, e.first(), e.end()).FlatMap("epoch_batches", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		inner := e.Inner(s)
		inner.RecordLengths = lengths
		if len(args) > 0 {
			(&Epochs{inner}).only(e.Skip, graph.Identity(s, args[0]))
		}
		d := build(inner)
		e.Share(inner)
		e.Order = inner.Order
		return d
	})
}

// lengths returns the lengths of all records where native operations find records by them. Outside
// of the function of an epoch they are computed once.
func (e *Epochs) lengths() (none tfbridge.Output) {
	r := New(e.Target)
	if !e.Engine.ComputesOrder() || !r.OrdersNatively() {
		return none
	}
	return r.Lengths(e.Scope)
}

// first returns the number of the epoch that comes first.
func (e *Epochs) first() tfbridge.Output {
	switch {
	case e.Engine.Seeks():
		return graph.FloorDiv(e.Scope, e.Skip, e.Size(e.Scope))
	case e.Engine.Replays():
		epoch, _ := e.replayFrom()
		return epoch
	}
	return e.Scope.Const(int64(0))
}

// only restricts e to an epoch. begin is where the first epoch begins.
func (e *Epochs) only(begin, epoch tfbridge.Output) {
	s := e.Scope
	e.Epoch = epoch
	switch {
	case e.Engine.Seeks() || e.ByPosition:
		size := e.Size(s)
		from := graph.Mul(s, epoch, size)
		e.Skip, e.Stop = from, graph.Add(s, from, size)
		if e.Engine.Seeks() {
			e.Skip = graph.Maximum(s, begin, from)
			e.Before = graph.Sub(s, e.Skip, begin)
		}
	case e.Engine.Replays():
		e.Skip = graph.Maximum(s, begin, graph.Mul(s, epoch, s.Const(ReplayNumber(1, 0))))
	}
}
