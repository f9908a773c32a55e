package windows

import (
	"slices"

	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// unit is the unit in which windows are counted. It computes the places of units in the
// parsed records of a block.
type unit interface {
	// count returns how many units the parsed records hold, given how many
	// records they are.
	count(s *graph.Scope, features []*spec.Feature, records tfbridge.Output, columns []column.Column) tfbridge.Output

	// lists returns the indices of the feature lists whose length in every record must be
	// known to find a unit.
	lists(features []*spec.Feature) []int

	// row returns where units of the windows, a scalar or a vector, begin in the
	// values of feature i.
	row(s *graph.Scope, w *windowTensors, i int, units tfbridge.Output) tfbridge.Output
}

// unitOf returns the unit of a plan's windows.
func unitOf(w stage.Window) unit {
	if w.Unit == spec.Records {
		return wholeRecords{}
	}
	return positions{}
}

// positions counts windows along the first axis of the joined records, as
// continuous_sequence does. One position is one row of every feature.
type positions struct{}

func (positions) lists([]*spec.Feature) []int { return nil }

func (positions) row(_ *graph.Scope, _ *windowTensors, _ int, units tfbridge.Output) tfbridge.Output {
	return units
}

// count asserts that all features of each record have as many positions.
func (positions) count(s *graph.Scope, features []*spec.Feature, records tfbridge.Output, columns []column.Column) tfbridge.Output {
	length := func(i int) tfbridge.Output {
		if columns[i].Ragged() {
			return columns[i].Lengths(s)
		}
		return s.Const(features[i].TensorShape()[0])
	}
	first := length(0)
	for i := range features[1:] {
		same := graph.ReduceAll(s, graph.Equal(s, first, length(i+1)))
		graph.Assert(s, same, []tfbridge.Output{s.Const("features of a record differ in length")}, nil)
	}
	for i := range columns {
		if columns[i].Ragged() {
			return graph.ReduceSum(s, columns[i].Lengths(s))
		}
	}
	return graph.Mul(s, records, first)
}

// wholeRecords counts windows in records, as discrete_sequence does. Feature
// lists have their own length in every record.
type wholeRecords struct{}

func (wholeRecords) count(_ *graph.Scope, _ []*spec.Feature, records tfbridge.Output, _ []column.Column) tfbridge.Output {
	return records
}

func (wholeRecords) lists(features []*spec.Feature) (indices []int) {
	for i, f := range features {
		if f.VarLen {
			indices = append(indices, i)
		}
	}
	return indices
}

func (u wholeRecords) row(s *graph.Scope, w *windowTensors, i int, units tfbridge.Output) tfbridge.Output {
	if at := slices.Index(u.lists(w.features), i); at >= 0 {
		return graph.GatherV2(s, w.tensors[len(w.features)+at], units, 0)
	}
	return graph.Mul(s, units, s.Const(w.features[i].TensorShape()[0]))
}
