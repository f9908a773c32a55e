package windows

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Singly carries out the processing stages on the windows of [Builder.Stream], one by one.
func (b *Builder) Singly(d *dataset.Dataset) *dataset.Dataset {
	if b.Shuffling == nil {
		d = d.Unbatch()
	}
	return d.Map("process", b.Numbered(b.process), b.MapOptions())
}

// process makes the plan's tensors of one window.
func (b *Builder) process(s *graph.Scope, window []tfbridge.Output) []tfbridge.Output {
	if b.Engine.EqualWindows() {
		return b.blocks.processor.Derive(s, window, nil)
	}
	columns := rowColumns(s, b.Parse.Features, window, func(x tfbridge.Output) tfbridge.Output { return graph.Reshape(s, x, s.Const([]int64{1})) })
	features, lengths := make([]tfbridge.Output, len(b.Parse.Features)), columns[min(len(b.Parse.Features), len(columns)):]
	for i := range features {
		features[i] = columns[i].Values
	}
	given := map[string]tfbridge.Output{}
	for i, m := range recordMeasures(b.Stages) {
		given[m.To] = lengths[i].Values
	}
	return b.blocks.processor.DeriveWith(s, given, features, nil)
}
