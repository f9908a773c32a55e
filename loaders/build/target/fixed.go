package target

import (
	"millrace/graph/dataset/native"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Fixed are the values of a dataset that no run feeds, for a graph that is written to a
// file: the same values as in [Feeds]. Such a dataset yields the tensors of the plan alone: where
// a run would need the positions of records for its states, it does without.
type Fixed struct {
	Group, Skip, Prefetch int64

	SkipBatches int64 // batches to skip at the start, where Skip cannot say where that is

	// Skipped are the bad records that a run would skip, sorted by file and record. The plan
	// says [engine.Choice.Skips] if there are any.
	Skipped []native.Skip
}

// Skips returns the records that operations skip, because they were found bad before.
func (t *Target) Skips() []native.Skip {
	if t.Fixed == nil {
		return nil
	}
	return t.Fixed.Skipped
}

// Service returns the data service that makes the batches, nil without one or if the dataset is
// to run in any process.
func (t *Target) Service() *spec.Service {
	if t.Fixed != nil {
		return nil
	}
	return engine.ServiceOf(t.Engine)
}

// HoldsPositions reports whether batches carry the positions of their records: see
// [engine.Choice.HoldsPositions].
func (t *Target) HoldsPositions() bool { return t.Fixed == nil && t.Engine.HoldsPositions() }

// NumbersElements reports whether elements carry their numbers: see
// [engine.Choice.NumbersElements].
func (t *Target) NumbersElements() bool { return t.Fixed == nil && t.Engine.NumbersElements() }

// CountsRead reports whether rows carry their numbers among the examples that a filter sees:
// see [engine.CountsRead].
func (t *Target) CountsRead() bool {
	return t.Fixed == nil && !t.Requests && engine.CountsRead(t.Engine)
}

// Trailing returns how many components elements have after the tensors of the plan: their
// number, or none.
func (t *Target) Trailing() int {
	if t.Service() != nil || t.HoldsPositions() || t.NumbersElements() || t.CountsRead() {
		return 1
	}
	return 0
}

// FromStart reports whether the dataset begins with the first element of the first epoch,
// whatever is fed.
func (t *Target) FromStart() bool { return t.Fixed != nil && t.Fixed.Skip == 0 }

// addFixed adds the values as constants.
func (t *Target) addFixed() {
	t.Group, t.Skip, t.Prefetch = t.Scope.Const(t.Fixed.Group), t.Scope.Const(t.Fixed.Skip), t.Scope.Const(t.Fixed.Prefetch)
}
