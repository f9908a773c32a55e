package windows

import (
	"maps"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/process"
	"millrace/tfbridge"
)

// Singly carries out the processing stages on the windows of [Builder.Stream], one by one.
func (b *Builder) Singly(d *dataset.Dataset) *dataset.Dataset {
	if b.Shuffling == nil && !b.Draws() {
		d = d.Unbatch()
	}
	if b.Filters() {
		return b.filtered(d)
	}
	return d.Map("process", b.Numbered(b.process), b.MapOptions())
}

// filtered is [Builder.Singly] for plans with filters.
func (b *Builder) filtered(d *dataset.Dataset) *dataset.Dataset {
	if b.CountsRead() {
		d = d.Enumerate(0)
	}
	return b.blocks.processor.Filter(d, func(s *graph.Scope, args []tfbridge.Output) (*graph.Scope, []tfbridge.Output, map[string]tfbridge.Output) {
		number := map[string]tfbridge.Output{}
		switch {
		case len(args) == 0:
			return s, nil, nil
		case b.CountsRead():
			number[process.Number], args = args[0], args[1:]
		case b.NumbersElements():
			number[process.Number], args = args[len(args)-1], args[:len(args)-1]
		}
		args, drawn := b.drawnOf(args)
		features, given := b.featuresOf(s, args)
		maps.Copy(given, drawn)
		maps.Copy(given, number)
		return s, features, given
	}, b.MapOptions())
}

// process makes the plan's tensors of one window.
func (b *Builder) process(s *graph.Scope, window []tfbridge.Output) []tfbridge.Output {
	window, drawn := b.drawnOf(window)
	if b.Draws() {
		s = b.blocks.processor.Drawn(s, drawn[process.Epoch], drawn[process.Position])
	}
	features, given := b.featuresOf(s, window)
	return b.blocks.processor.DeriveWith(s, given, features, nil)
}

// drawnOf splits epoch and number from a window that carries them.
func (b *Builder) drawnOf(window []tfbridge.Output) (rest []tfbridge.Output, drawn map[string]tfbridge.Output) {
	last := len(window) - drawnComponents
	if !b.Draws() || last < 0 {
		return window, nil
	}
	return window[:last], map[string]tfbridge.Output{process.Epoch: window[last], process.Position: window[last+1]}
}

// featuresOf returns the decoded features of a window, and the measures that come with it.
func (b *Builder) featuresOf(s *graph.Scope, window []tfbridge.Output) ([]tfbridge.Output, map[string]tfbridge.Output) {
	given := map[string]tfbridge.Output{}
	if b.Engine.EqualWindows() {
		return window, given
	}
	columns := rowColumns(s, b.Parse.Features, window, func(x tfbridge.Output) tfbridge.Output { return graph.Reshape(s, x, s.Const([]int64{1})) })
	features, lengths := make([]tfbridge.Output, len(b.Parse.Features)), columns[min(len(b.Parse.Features), len(columns)):]
	for i := range features {
		features[i] = columns[i].Values
	}
	for i, m := range recordMeasures(b.Stages) {
		given[m.To] = lengths[i].Values
	}
	return features, given
}
