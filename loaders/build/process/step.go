package process

import (
	"fmt"
	"maps"
	"slices"

	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/build/target"
	"millrace/loaders/processing"
	"millrace/loaders/processing/tensors"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// step builds processing steps of any type. The dense form of most of them works on one
// example alone; see [spec.Step.Batchable].
type step struct {
	stage.Step
	target *target.Target
}

// StepScope begins the names of a step's operations. Its number and its type follow, so that a
// failure names the step.
const StepScope = "processing_step_"

func newStep(p *Processor, s stage.Step) room { return step{s, p.Target} }

func (x step) dense(s *graph.Scope, values map[string]tfbridge.Output, lead int) {
	s = x.scope(s)
	if part, ok := x.Action.(*tensors.Slice); ok {
		values[x.Writes] = part.Batch(s, values[x.Reads[0]], lead)
	} else if x.Chain != nil && lead > 0 {
		values[x.Writes] = x.images(s, values[x.Reads[0]])
	} else if x.joins() {
		values[x.Writes] = x.joined(s, values[x.Reads[0]])
	} else if x.Filters() {
		x.filter(s, values, lead)
	} else if x.Writes != "" {
		values[x.Writes] = x.build(s, lead, func(name string) tfbridge.Output { return values[name] }, func() tfbridge.Output {
			return column.Column{Values: values[slices.Min(slices.Collect(maps.Keys(values)))]}.Rows(s)
		})
	}
	for _, name := range x.Drops {
		delete(values, name)
	}
}

// scope returns the scope of the step's operations.
func (x step) scope(s *graph.Scope) *graph.Scope {
	return s.SubScope(fmt.Sprint(StepScope, x.Index, "_", x.Type))
}

// images makes the images of a batch in the last step of a run of steps; the steps before pass the
// bytes on.
func (x step) images(s *graph.Scope, bytes tfbridge.Output) tfbridge.Output {
	if !x.Closes {
		return graph.Identity(s, bytes)
	}
	var seeds []tfbridge.Output
	for _, index := range x.Draws {
		seeds = append(seeds, seedOf(s, index))
	}
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	return x.Chain.Images.Build(s, "decode_image", bytes, seeds)
}

// words makes the numbers of a batch of texts in the last step of a run of steps; the steps before
// pass the texts on.
func (x step) words(s *graph.Scope, texts column.Column) column.Column {
	if !x.Closes || s.Err() != nil {
		return texts
	}
	words := &x.Words.Words
	numbers, splits := words.Build(s, texts.Values, s.Const(words.List))
	return column.Column{Values: numbers, Splits: splits}
}

// joins reports whether the step is a decoder, or a step that cuts a part out of an image, and the
// two are built as one. A request gets the whole image decoded, so that a failure has the name of
// the step that failed.
func (x step) joins() bool { return (x.CutBy != nil || x.Decoder != nil) && !x.target.Requests }

// joined builds the check of the bytes at the place of the decoder, and the rest at the place of the
// step that cuts.
func (x step) joined(s *graph.Scope, bytes tfbridge.Output) tfbridge.Output {
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	site := x.site(s)
	if x.CutBy != nil {
		return x.Action.(processing.Decoder).Checked(site, bytes)
	}
	if x.Random {
		site.Seed = seedOf(s, x.Index)
	}
	part := x.Action.(processing.Part)
	image := x.Decoder.Action.(processing.Decoder).DecodePart(site, bytes, func(shape tfbridge.Output) (begin, size tfbridge.Output) {
		return part.Cut(site, shape)
	})
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	return part.Finish(site, image)
}

// rows builds a step that makes rows which differ in length.
func (x step) rows(s *graph.Scope, c column.Column) column.Column {
	if s.Err() != nil {
		return column.Column{}
	}
	made := column.Column(x.Action.(processing.Rows).Rows(x.site(s), processing.Joined(c)))
	if n := x.Result().Shape[0]; n >= 0 { // rows of one size
		return column.Column{Values: column.ReshapeRows(s, made.Values, []int64{n}, made.Rows(s))}
	}
	return made
}

// site returns where the step is built.
func (x step) site(s *graph.Scope) *processing.Site {
	return x.target.Site(s)
}

// build builds the step on tensors with lead axes in front of the axes of an example. rows adds the
// number of examples in a batch.
func (x step) build(s *graph.Scope, lead int, tensor func(name string) tfbridge.Output, rows func() tfbridge.Output) tfbridge.Output {
	var in []tfbridge.Output
	for _, name := range x.Reads {
		in = append(in, tensor(name))
	}
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	site := x.site(s)
	if x.Random {
		site.Seed = seedOf(s, x.Index)
	}
	if p, ok := x.Action.(processing.Prepared); ok {
		site.Prepared = x.target.Prepare(x.Index, p)
	}
	if b, ok := x.Action.(processing.Batched); ok {
		if lead > 0 {
			site.Rows = rows()
		}
		return b.Func(site, in, lead)
	}
	return x.Action.Build(site, in)
}

// filter keeps the rows of a batch that fulfil the conditions.
func (x step) filter(s *graph.Scope, values map[string]tfbridge.Output, lead int) {
	if s.Err() != nil || lead == 0 {
		return // an example alone is kept, or not, by [Processor.Filter]
	}
	rows := graph.Where(s, x.keep(s, values, lead))
	rows = graph.Squeeze(s, rows, 1)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		values[name] = graph.GatherV2(s, values[name], rows, 0)
	}
}

// keep returns whether an example, or each of a batch, is kept.
func (x step) keep(s *graph.Scope, values map[string]tfbridge.Output, lead int) tfbridge.Output {
	var in []tfbridge.Output
	for _, name := range x.Reads {
		in = append(in, values[name])
	}
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	return x.Action.(processing.Filter).Keep(&processing.Site{Scope: s}, in, lead)
}

func (x step) ragged(s *graph.Scope, columns map[string]column.Column) {
	s = x.scope(s)
	if x.Words != nil {
		columns[x.Writes] = x.words(s, columns[x.Reads[0]])
	} else if part, ok := x.Action.(*tensors.Slice); ok {
		columns[x.Writes] = slice{part, x.Reads[0], x.Key, x.target}.rows(s, columns[x.Reads[0]])
	} else if x.MakesRows() {
		columns[x.Writes] = x.rows(s, columns[x.Reads[0]])
	} else if x.Writes != "" && (!x.Batchable() || x.Arranges() && x.readsRagged(columns)) {
		columns[x.Writes] = x.single(s, columns)
	} else if x.Writes != "" {
		made := column.Column{Values: x.build(s, 1, func(name string) tfbridge.Output { return columns[name].Values }, func() tfbridge.Output {
			return columns[slices.Min(slices.Collect(maps.Keys(columns)))].Rows(s)
		})}
		if len(x.Reads) > 0 {
			made.Splits = columns[x.Reads[0]].Splits
		}
		columns[x.Writes] = made
	}
	for _, name := range x.Drops {
		delete(columns, name)
	}
}

// readsRagged reports whether the step reads rows that may differ in length.
func (x step) readsRagged(columns map[string]column.Column) bool {
	return slices.ContainsFunc(x.Reads, func(name string) bool { return columns[name].Ragged() })
}

// single builds the step on columns that have one row.
func (x step) single(s *graph.Scope, columns map[string]column.Column) column.Column {
	y := x.build(s, 0, func(name string) tfbridge.Output {
		c := columns[name]
		if c.Ragged() {
			return c.Values
		}
		return graph.Subscript(s, c.Values, graph.At(0))
	}, nil)
	if shape := x.Result().Shape; len(shape) == 0 || shape[0] >= 0 {
		return column.Column{Values: graph.ExpandDims(s, y, 0)}
	}
	length := graph.Subscript(s, graph.Shape(s, y), graph.Until(1))
	return column.Column{Values: y, Splits: graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{0}), length}, 0)}
}
