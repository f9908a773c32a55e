package build

import (
	"millrace/graph/dataset"
	"millrace/graph/steps"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/tfbridge"
)

// Parts are the operations of a plan in a graph: a tf.data dataset, its
// iterator and the tensors of the next batch. Fetching any of Tensors in a run
// takes the next batch; all that are fetched in one run are of the same batch.
type Parts struct {
	Plan     *plan.Plan
	Scan     *plan.Scan
	Dataset  *dataset.Dataset // that Iterator is of
	Iterator *dataset.Iterator
	Tensors  []steps.NamedOutput // in the order of Plan.Tensors
	Rows     tfbridge.Output     // int64 scalar: rows of the batch, for runs that fetch no tensor of it

	// Positions is an int64 vector, where the records of the batch are in the plan's
	// order; unset unless [engine.Choice.HoldsPositions]. Where [engine.Choice.Replays] it is the
	// number of the batch, or of each of its rows: see [ReplayPlace].
	Positions tfbridge.Output

	Model tfbridge.Output // string scalar: a serialized ModelProto; unset without Plan.TimeStages

	// What the iterator's Init operation is fed with, int64 scalars.
	Group    tfbridge.Output // records parsed at once, or rows of an element where [engine.Choice.JoinsBatches]
	Skip     tfbridge.Output // elements left out at the start, or records where [engine.Choice.Seeks]; the first number where [engine.Choice.Replays]
	Held     tfbridge.Output // a vector of the positions of the records that come first; unset unless [engine.Choice.HoldsPositions]
	Prefetch tfbridge.Output // elements that tf.data prepares ahead, where [engine.Choice.RunPrefetches]

	// Probe is an iterator over one record or window of the first epoch. It is
	// set for an endless loader that may give nothing, and nil otherwise.
	Probe *dataset.Iterator

	// Place says which records rows are; see [order.Place]. Nil: rows are no records.
	Place func(first, rows int64) string

	// Quarantine is the list of the records that are left out, nil if the first bad record
	// ends the run. Passed are the positions of those that are read by their place.
	Quarantine *quarantine.List
	Passed     *quarantine.Positions

	checks []batchCheck // by the number in the message of a failed assertion
}
