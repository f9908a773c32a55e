package build

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
)

// recordsByPlace yields the records of all epochs in the order of the plan. Where
// Millrace's own operations read records, they carry their places. Else Go reads them
// by their places and checks them, as [feed.Source.Files] does.
func (b *builder) recordsByPlace() *dataset.Dataset {
	if b.plan.Engine().ReadsNatively() {
		return native.OrderedRecords(b.scope, b.nativeOrder())
	}
	return b.vectorsByPlace(b.scope.Const(int64(0))).Unbatch()
}

// groupsByPlace yields the records that are parsed at once, as vectors: an element
// costs tf.data more time than a record takes to read and to decode.
func (b *builder) groupsByPlace() *dataset.Dataset { return b.vectorsByPlace(b.group) }

// vectorsByPlace yields vectors of so many records, an int64 scalar, but for the last
// one; for 0 of as many as fit the read buffer. A plan that [engine.Choice.Seeks] begins
// at record b.skip: no record before it is read.
func (b *builder) vectorsByPlace(records tfbridge.Output) *dataset.Dataset {
	s := b.scope
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	results := []graph.Spec{scalar, scalar, {DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}}
	begin := s.Const(int64(0))
	if b.plan.Engine().Seeks() {
		begin = b.skip
	}
	d := dataset.Range(s, 0, math.MaxInt64, 1)
	d = d.Scan("read_by_place", []tfbridge.Output{s.Const(int64(0)), begin}, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		out := graph.GoFunction(s, graph.GoFunc{Name: "read_by_place", Out: results, Fn: b.source().Places(), Pure: true}, state[0], state[1], records)
		if s.Err() != nil {
			return nil, nil
		}
		return out[:2], out[2:]
	})
	return d.TakeWhile("any_records", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[0]), s.Const(int64(0)))
	})
}
