package source

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/feed"
	"millrace/tfbridge"
)

// byPosition yields the records of all epochs in the order of the plan. Where
// Millrace's own operations read records, they carry their locations. Else Go
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

// vectorsInOrder yields vectors of n records, an int64 scalar, but for the last
// one; for 0 of as many as fit the read buffer. A plan that [engine.Choice.Seeks] begins
// at record r.Skip: no record before it is read.
func (r *Records) vectorsInOrder(n tfbridge.Output) *dataset.Dataset {
	begin := r.Scope.Const(int64(0))
	if r.Engine.Seeks() {
		begin = r.Skip
	}
	return GoScan{
		Name: "read_by_place", Any: "any_records", Fn: feed.InOrder(r.Feed()), Begin: begin, After: []tfbridge.Output{n},
		Results: []graph.Spec{StringVector},
	}.Build(r.Scope)
}
