package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/steps"
	"millrace/loaders/build/target"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/remote"
	"millrace/tfbridge"
)

// Parts are the operations of a plan in a graph: a tf.data dataset, its
// iterator and the tensors of the next batch. Fetching any of Tensors in a run
// takes the next batch; all that are fetched in one run are of the same batch.
type Parts struct {
	Plan     *plan.Plan
	Scan     *plan.Scan
	Dataset  *dataset.Dataset
	Iterator *dataset.Iterator   // over Dataset
	Tensors  []steps.NamedOutput // ordered as Plan.Tensors
	Rows     tfbridge.Output     // int64 scalar: rows of the batch, for runs that fetch no tensor of it

	// Positions is an int64 vector with the positions of the batch's records in the
	// plan's order; unset unless [engine.Choice.HoldsPositions] or a data service makes the batches. Where
	// [engine.Choice.Replays] it is the number of the batch, or of each of its rows:
	// see [source.ReplayPosition]. Where [engine.CountsRead] it has the numbers of
	// the rows among the examples that the filter saw since the iterator began.
	Positions tfbridge.Output

	Model tfbridge.Output // string scalar: a serialized ModelProto; unset without Plan.TimeStages

	// Files says to package remote which files in stores the graph reads. It ends with the graph.
	Files *remote.Use

	// Feeds are fed to the iterator's Init operation.
	target.Feeds

	// Probe is an iterator over one record or window of the first epoch. It is
	// set for an endless loader that may give nothing, and nil otherwise.
	Probe *dataset.Iterator

	// Report is an iterator over what the workers of the plan's data service are: see
	// [native.ServiceReport]. It is nil without a service.
	Report *dataset.Iterator

	// ServiceAddress is where the dispatcher of the plan's data service listens; "" without one.
	ServiceAddress string

	// BlockRows is how many rows the workers of the plan's data service make at a time; 0
	// without one.
	BlockRows int64

	// Place gives the records of rows; see [order.Place]. Nil: rows are not records, or come in
	// any order.
	Place func(first, rows int64) string

	// Quarantine is the list of the skipped records, nil if the first bad record ends
	// the run. Passed has the positions of skipped records in plans that read records
	// by position.
	Quarantine *quarantine.List
	Passed     *quarantine.Positions

	Checks target.Checks // assertions about batches
}

// fetch adds the tensors of the next batch.
func (pl *Parts) fetch(s *graph.Scope, t *target.Target) {
	if t.Engine.Timed {
		pl.Model = s.Op1("IteratorGetModelProto", nil, pl.Iterator.Resource)
	}
	next := pl.Iterator.NextInline()
	pl.Tensors = named(t, next)
	pl.Rows = graph.Subscript(t.Scope, graph.Shape(t.Scope, next[0]), graph.At(0))
	if t.Trailing() > 0 {
		pl.Positions = next[len(next)-1]
	}
}

// named pairs an element's components with the plan's tensors.
func named(t *target.Target, components []tfbridge.Output) []steps.NamedOutput {
	named := make([]steps.NamedOutput, 0, len(t.Out.Results()))
	for i, x := range t.Out.Results() {
		from := i
		if t.Order != nil {
			from = t.Order[i]
		}
		named = append(named, steps.NamedOutput{Name: x.Name, Output: components[from]})
	}
	return named
}
