package build

import (
	"millrace/graph"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

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
