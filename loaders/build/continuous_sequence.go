package build

import (
	"millrace/graph"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// positions counts windows along the first axis of the joined records, as
// continuous_sequence does. One position is one row of every feature.
type positions struct{}

func (positions) lists(*plan.Plan) []int { return nil }

func (positions) row(_ *graph.Scope, _ *windowTensors, _ int, units tfbridge.Output) tfbridge.Output {
	return units
}

// count asserts that all features of each record have as many positions.
func (positions) count(b *builder, s *graph.Scope, records tfbridge.Output, columns []column) tfbridge.Output {
	features := b.plan.SortedFeatures()
	length := func(i int) tfbridge.Output {
		if columns[i].ragged() {
			return columns[i].lengths(s)
		}
		return s.Const(features[i].TensorShape()[0])
	}
	first := length(0)
	for i := range features[1:] {
		same := graph.ReduceAll(s, graph.Equal(s, first, length(i+1)))
		graph.Assert(s, same, []tfbridge.Output{s.Const("features of a record differ in length")}, nil)
	}
	for i := range columns {
		if columns[i].ragged() {
			return graph.ReduceSum(s, columns[i].lengths(s))
		}
	}
	return graph.Mul(s, records, first)
}
