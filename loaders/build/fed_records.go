package build

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/feed"
	"millrace/tfbridge"
)

// source returns where Go reads the plan's records.
func (b *builder) source() *feed.Source {
	return &feed.Source{Plan: b.plan, Scan: b.scan, Left: b.left, Passed: b.passed}
}

// fedRecords returns the records of the file with a number in the plan's list,
// an int64 scalar.
func (b *builder) fedRecords(s *graph.Scope, ordinal tfbridge.Output) *dataset.Dataset {
	return b.fedVectors(s, ordinal).Unbatch()
}

// fedVectors returns the records of a file as vectors, as many in each as fit the read
// buffer.
func (b *builder) fedVectors(s *graph.Scope, ordinal tfbridge.Output) *dataset.Dataset {
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	results := []graph.Spec{scalar, scalar, {DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}}
	initial := []tfbridge.Output{s.Const(int64(0)), s.Const(int64(0))}
	d := dataset.Range(s, 0, math.MaxInt64, 1)
	d = d.Scan("read_records", initial, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		out := graph.GoFunction(s, graph.GoFunc{Name: "read_records", Out: results, Fn: b.source().Files(), Pure: true}, ordinal, state[0], state[1])
		return out[:2], out[2:]
	})
	return d.TakeWhile("any_records", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[0]), s.Const(int64(0)))
	})
}
