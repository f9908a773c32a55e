package process

import (
	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// measure builds lengths and masks of tensors that are not padded yet.
type measure struct {
	stage.Measure
	records int64 // number of records in a window, where all have that many
	length  int64 // length of the measured feature in each record of a window
	shape   []int64
}

func newMeasure(p *Processor, m stage.Measure) room {
	r := measure{Measure: m, shape: p.Out.Tensor(m.Tensor).Shape}
	if w, ok := stage.Find[stage.Window](p.Stages); ok && m.Records {
		r.records, r.length = w.Min, p.Parse.FeatureOf(m.Tensor).TensorShape()[0]
	}
	return r
}

func (m measure) dense(s *graph.Scope, values map[string]tfbridge.Output, lead int) {
	if _, given := values[m.To]; given && m.Records {
		return
	}
	shape := graph.Shape(s, values[m.Tensor])
	batch := graph.Subscript(s, shape, graph.Until(int64(lead)))
	switch {
	case m.Records:
		values[m.To] = m.recordSizes(s, batch)
	case m.Kind == spec.Mask:
		along := graph.Subscript(s, shape, graph.Between(int64(lead+m.Axis), int64(lead+m.Axis+1)))
		values[m.To] = graph.Fill(s, graph.ConcatV2(s, []tfbridge.Output{batch, along}, 0), s.Const(true))
	case m.Kind == spec.ElementCount:
		values[m.To] = graph.Size(s, values[m.Tensor]) // a single example: all elements of a batch have the same size
	default:
		values[m.To] = graph.Fill(s, batch, graph.Subscript(s, shape, graph.At(int64(lead+m.Axis))))
	}
}

// recordSizes computes the lengths of the records in windows. All windows must have the
// same number of records, and all records the same length.
func (m measure) recordSizes(s *graph.Scope, batch tfbridge.Output) tfbridge.Output {
	records := s.Const([]int64{m.records})
	return graph.Fill(s, graph.ConcatV2(s, []tfbridge.Output{batch, records}, 0), s.Const(m.length))
}

// ragged does not change the lengths of the records in windows: windows contain them.
func (m measure) ragged(s *graph.Scope, columns map[string]column.Column) {
	of := columns[m.Tensor]
	switch {
	case m.Records:
	case m.Kind == spec.Mask:
		columns[m.To] = of.Mask(s, m.Axis)
	case m.Kind == spec.ElementCount:
		columns[m.To] = column.Column{Values: of.Elements(s, m.shape)}
	default:
		columns[m.To] = column.Column{Values: of.Sizes(s, m.Axis)}
	}
}
