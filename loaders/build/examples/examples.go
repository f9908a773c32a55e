// Package examples builds the stages of loaders whose examples are records: parsing, and
// batches of the tensors that the records become.
package examples

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/batch"
	"millrace/loaders/build/parse"
	"millrace/loaders/build/process"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// Builder builds examples that are records.
type Builder struct {
	*source.Records
	parser    *parse.Parser
	processor *process.Processor
	batch     *batch.Batcher
}

// New returns a Builder of the examples of t.
func New(t *target.Target) *Builder {
	return &Builder{source.New(t), parse.New(t), process.New(t), batch.New(t)}
}

// Ragged parses batches of records with lists: they are ragged until they are padded.
func (b *Builder) Ragged(d *dataset.Dataset) *dataset.Dataset {
	d = d.Batch(b.batch.Size, b.batch.Full())
	return d.Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return b.processor.Assemble(s, b.parser.Records(s, args[0]))
	}, b.MapOptions())
}

// Groups parses several batches of records at once, and cuts them into batches.
func (b *Builder) Groups(d *dataset.Dataset) *dataset.Dataset {
	d = d.BatchOutput(b.Group, false)
	if b.Filters() {
		return b.batch.Keep(d, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			parsed := graph.ParseExampleV2(s, args[0], b.parser.ExampleFeatures())
			return b.parser.Decode(s, parsed.Dense, []int64{-1})
		})
	}
	return b.parseGroups(d).Rebatch(b.batch.Size, b.batch.Full())
}

// parseGroups parses vectors of serialized Examples.
func (b *Builder) parseGroups(d *dataset.Dataset) *dataset.Dataset {
	if order, ok := b.Engine.ParsingSuffices(false); ok {
		b.Order = order
		return d.ParseExample(b.parser.ExampleFeatures(), &dataset.ParseExampleOptions{Parallel: b.Parse.Parallel, Sloppy: b.Parse.Sloppy})
	}
	return d.Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		parsed := graph.ParseExampleV2(s, args[0], b.parser.ExampleFeatures())
		return b.processor.Derive(s, b.parser.Decode(s, parsed.Dense, []int64{-1}), []int64{-1})
	}, b.MapOptions())
}

// Parsed parses records one by one. If a state needs the position of each record, the
// position is the last component of the examples.
func (b *Builder) Parsed(d *dataset.Dataset) *dataset.Dataset {
	if b.HoldsPositions() {
		return d.Enumerate(0).Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			position := b.Position(s, args[0])
			if b.Draws() {
				return append(b.drawn(s, args[1], b.EpochOf(s, position)), position)
			}
			return append(b.parse(s, args[1:]), position)
		}, b.MapOptions())
	}
	if b.Filters() {
		return b.filtered(d)
	}
	if b.Draws() {
		return d.Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return b.drawn(s, args[0], args[1])
		}, b.MapOptions())
	}
	return d.Map("parse", b.parse, b.MapOptions())
}

// filtered is [Builder.Parsed] for plans with filters.
func (b *Builder) filtered(d *dataset.Dataset) *dataset.Dataset {
	extra := 0
	if b.CountsRead() {
		d, extra = d.Enumerate(0), 1
	}
	return b.processor.Filter(d, func(s *graph.Scope, args []tfbridge.Output) (*graph.Scope, []tfbridge.Output, map[string]tfbridge.Output) {
		given := map[string]tfbridge.Output{}
		if extra > 0 && len(args) > 0 {
			given[process.Number] = args[0]
			if b.Before.Op != nil {
				given[process.Number] = graph.Add(s, args[0], b.Before)
			}
		}
		args = args[min(extra, len(args)):]
		if !b.Draws() || len(args) < 2 {
			return s, b.parser.Record(s, args[0]), given
		}
		number, data := b.NumberOf(s, args[0])
		given[process.Epoch], given[process.Position] = args[1], number
		return s, b.parser.Record(s, data), given
	}, b.MapOptions())
}

// parse makes the plan's tensors of one serialized record.
func (b *Builder) parse(s *graph.Scope, record []tfbridge.Output) []tfbridge.Output {
	return b.processor.Derive(s, b.parser.Record(s, record[0]), nil)
}

// drawn is parse for a record that carries its location, in an epoch.
func (b *Builder) drawn(s *graph.Scope, record, epoch tfbridge.Output) []tfbridge.Output {
	number, data := b.NumberOf(s, record)
	return b.parse(b.processor.Drawn(s, epoch, number), []tfbridge.Output{data})
}

// Checked carries out all stages on one record, and returns the operations that a run has to
// carry out.
func (b *Builder) Checked(s *graph.Scope, record tfbridge.Output) (targets []*tfbridge.Operation) {
	var made []tfbridge.Output
	if b.Filters() { // steps after a filter must not see what it does not keep
		made = b.filtered(dataset.FromTensors(s, record)).SingleElement()
	} else {
		made = b.parse(s, []tfbridge.Output{record})
	}
	for _, x := range made {
		targets = append(targets, x.Op)
	}
	return targets
}

// Requests makes the plan's tensors of a vector of records that come in a request.
func (b *Builder) Requests(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
	return b.processor.Behind(s, b.joined(s, records))
}

// joined is Requests before the steps that see batches.
func (b *Builder) joined(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
	if b.StepsSingly() {
		return b.batch.Whole(dataset.FromSlices(s, records).Map("parse", b.parse, b.MapOptions()), graph.Size(s, records))
	}
	if b.Parse.Lists {
		return b.processor.Assemble(s, b.parser.Records(s, records))
	}
	return b.processor.Derive(s, b.Features(s, records), []int64{-1})
}

// Features parses a vector of records to the decoded features, in the order of [stage.Parse], each
// with a row for each record. No feature may have a variable length.
func (b *Builder) Features(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
	var stored []tfbridge.Output
	for _, c := range b.parser.Stored(s, records) {
		stored = append(stored, c.Values)
	}
	return b.parser.Decode(s, stored, []int64{-1})
}

// Values makes the plan's tensors of the decoded features of several examples, in the order of
// [stage.Parse], each with a row for each example.
func (b *Builder) Values(s *graph.Scope, features []tfbridge.Output) []tfbridge.Output {
	if s.Err() != nil || len(features) == 0 {
		return nil
	}
	if !b.StepsSingly() && !b.Parse.Lists {
		return b.processor.Behind(s, b.processor.Derive(s, features, []int64{-1}))
	}
	rows := graph.Subscript(s, graph.Shape(s, features[0]), graph.At(0))
	d := dataset.FromSlices(s, features...).Map("process", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return b.processor.Derive(s, args, nil)
	}, b.MapOptions())
	return b.processor.Behind(s, b.batch.Whole(d, rows))
}

// Probe reads files one after the other, because a shuffle of no elements never ends.
// Without shuffling and without end, RepeatDataset finds out by itself, and Probe
// returns nil.
func (b *Builder) Probe() *dataset.Dataset {
	if b.Shuffling == nil && b.Repeat.Epochs == 0 {
		return nil
	}
	return b.Joined(b.Scope)
}
