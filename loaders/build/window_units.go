package build

import (
	"millrace/graph"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// unit is what windows are counted in. It says where units are in what is
// parsed of a block of records.
type unit interface {
	// count returns how many units the parsed records hold, given how many
	// records they are.
	count(b *builder, s *graph.Scope, records tfbridge.Output, columns []column) tfbridge.Output

	// lists returns the feature lists whose length in every record must be known
	// to find a unit, by their places among the sorted features.
	lists(p *plan.Plan) []int

	// row returns where units of the windows, a scalar or a vector, begin in the
	// values of the feature at a place among the sorted ones.
	row(s *graph.Scope, w *windowTensors, place int, units tfbridge.Output) tfbridge.Output
}

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

// wholeRecords counts windows in records, as discrete_sequence does. Feature
// lists have a length of their own in every record.
type wholeRecords struct{}

func (wholeRecords) count(_ *builder, _ *graph.Scope, records tfbridge.Output, _ []column) tfbridge.Output {
	return records
}

func (wholeRecords) lists(p *plan.Plan) (places []int) {
	for i, f := range p.SortedFeatures() {
		if f.VarLen {
			places = append(places, i)
		}
	}
	return places
}

func (u wholeRecords) row(s *graph.Scope, w *windowTensors, place int, units tfbridge.Output) tfbridge.Output {
	for i, list := range u.lists(w.plan) {
		if list == place {
			return graph.GatherV2(s, w.tensors[len(w.plan.Features)+i], units, 0)
		}
	}
	return graph.Mul(s, units, s.Const(w.plan.SortedFeatures()[place].TensorShape()[0]))
}
