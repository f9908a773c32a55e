package process

import (
	"maps"
	"slices"

	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// table has a line for each type of stage that works on the tensors of examples.
var table = []line{of(newConstant), of(newStep), of(newMeasure)}

// Builds reports whether this package builds a stage.
func Builds(s stage.Stage) bool {
	return slices.ContainsFunc(table, func(l line) bool { return l.builds(s) })
}

// roomOf returns the room of a stage, nil if this package does not build it.
func roomOf(p *Processor, s stage.Stage) room {
	for _, l := range table {
		if l.builds(s) {
			return l.room(p, s)
		}
	}
	return nil
}

// Dense builds the stages on tensors with lead dimensions in front of the example's own.
func (p *Processor) Dense(s *graph.Scope, values map[string]tfbridge.Output, lead int) {
	for _, x := range p.Stages {
		if r := roomOf(p, x); r != nil {
			r.dense(s, values, lead)
		}
	}
}

// Ragged builds the stages that a function accepts, on columns.
func (p *Processor) Ragged(s *graph.Scope, columns map[string]column.Column, accept func(stage.Stage) bool) {
	for _, x := range p.Stages {
		if r := roomOf(p, x); r != nil && accept(x) {
			r.ragged(s, columns)
		}
	}
}

// Derive makes the plan's tensors of the decoded features, in the order of
// [stage.Parse]: all stages, then padding to shapes that are known in advance. lead is the
// shape in front of each tensor's own: none for one record, the batch dimension for a
// batch of them. Every stage works on both.
func (p *Processor) Derive(s *graph.Scope, decoded []tfbridge.Output, lead []int64) []tfbridge.Output {
	return p.DeriveWith(s, nil, decoded, lead)
}

// DeriveWith is Derive for examples that have further tensors in addition to the features.
func (p *Processor) DeriveWith(s *graph.Scope, given map[string]tfbridge.Output, decoded []tfbridge.Output, lead []int64) []tfbridge.Output {
	if len(decoded) != len(p.Parse.Features) {
		return nil // the scope holds the failure
	}
	if len(lead) > 0 && p.MakesRows() {
		return p.assembleRows(s, decoded)
	}
	values := make(map[string]tfbridge.Output, len(p.Out.Tensors))
	for _, primary := range p.Parse.Primaries {
		values[primary.To] = graph.Identity(s, decoded[p.Parse.IndexOf(primary.To)])
	}
	maps.Copy(values, given)
	p.Dense(s, values, len(lead))
	if len(lead) > 0 && p.Out.Padding != nil {
		p.padStatic(s, values)
	}
	return p.outputs(values)
}

// assembleRows is Derive for a batch, where processing steps make rows that differ in length.
func (p *Processor) assembleRows(s *graph.Scope, decoded []tfbridge.Output) []tfbridge.Output {
	features := make([]column.Column, len(decoded))
	for i, x := range decoded {
		features[i].Values = x
	}
	return p.Assemble(s, features)
}

// outputs returns the plan's tensors, and after them the number of the example, if it has one.
func (p *Processor) outputs(values map[string]tfbridge.Output) []tfbridge.Output {
	out := make([]tfbridge.Output, len(p.Out.Tensors))
	for i, t := range p.Out.Tensors {
		out[i] = values[t.Name]
	}
	if number, ok := values[Number]; ok {
		out = append(out, number)
	}
	return out
}

// Assemble makes a batch's tensors of the columns of the features, in the order of
// [stage.Parse], followed by the columns of record lengths that are measured. It does to
// rows that differ in length what Derive does to tensors.
func (p *Processor) Assemble(s *graph.Scope, features []column.Column) []tfbridge.Output {
	columns := p.Columns(features)
	lengths := features[len(p.Parse.Features):]
	for _, m := range stage.All[stage.Measure](p.Stages) {
		if m.Records {
			columns[m.To], lengths = lengths[0], lengths[1:]
		}
	}
	p.Ragged(s, columns, func(stage.Stage) bool { return true })
	out := make([]tfbridge.Output, len(p.Out.Tensors))
	for i, t := range p.Out.Tensors {
		out[i] = graph.EnsureShape(s, p.stack(s, i, columns[t.Name]), p.BatchShape(i))
	}
	return out
}

// Columns returns the columns of the primary tensors, given those of the features.
func (p *Processor) Columns(features []column.Column) map[string]column.Column {
	columns := make(map[string]column.Column, len(p.Out.Tensors))
	for _, primary := range p.Parse.Primaries {
		columns[primary.To] = features[p.Parse.IndexOf(primary.To)]
	}
	return columns
}
