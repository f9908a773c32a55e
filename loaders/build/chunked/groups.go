package chunked

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/column"
	"millrace/loaders/build/feed"
	"millrace/loaders/build/process"
	"millrace/loaders/build/source"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// sequences builds the groups of one epoch.
func (b *groups) sequences(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	d := b.orderedRecords(s, epoch)
	if n := b.chunks.ShuffleSeqs; n > 1 {
		d = b.Shuffle(d, n, source.StreamRecords, epoch)
	}
	return d.BatchOutput(b.Group, false).Map("sequences", func(s *graph.Scope, group []tfbridge.Output) []tfbridge.Output {
		return b.groupColumns(s, group, epoch)
	}, b.MapOptions())
}

// groupColumns parses a group of records to the components of the columns: for
// each its values, and of a ragged one where each record begins in them. The
// locations of the records follow. Where a step draws random numbers the group is one record.
func (b *groups) groupColumns(s *graph.Scope, group []tfbridge.Output, epoch tfbridge.Output) []tfbridge.Output {
	number, records, locations := group[0], group[1], b.locations(s, group)
	if b.Draws() {
		file := graph.Subscript(s, locations, graph.At(0), graph.At(0))
		position := graph.Add(s, b.records.NumberBefore(s, file), graph.Subscript(s, locations, graph.At(0), graph.At(1)))
		s = b.processor.Drawn(s, graph.Identity(s, epoch), position)
	}
	features := b.parser.Records(s, records)
	columns := b.processor.Columns(features)
	b.processor.Ragged(s, columns, func(x stage.Stage) bool { return !b.ofRows(x) })
	b.nameSequences(s, columns, features, identity{number, locations})
	var out []tfbridge.Output
	for _, c := range b.columns {
		x := b.padFrames(s, &c, columns[c.name])
		if out = append(out, x.Values); c.ragged {
			out = append(out, x.Splits)
		}
	}
	return append(out, locations)
}

// locations returns the locations of a group's records, [records, 3].
func (b *groups) locations(s *graph.Scope, group []tfbridge.Output) tfbridge.Output {
	if !b.Engine.Own {
		return group[2]
	}
	n := int64(feed.LocationBytes)
	bytes := graph.Substr(s, group[1], s.Const(-n), s.Const(n))
	return graph.EnsureShape(s, graph.DecodeRaw(s, bytes, tfbridge.Int64, nil), tfbridge.MakeShape(-1, n/8))
}

// ofRows reports whether a stage measures rows: their lengths are known when they are cut.
func (b *groups) ofRows(x stage.Stage) bool {
	m, ok := x.(stage.Measure)
	return ok && b.measuresRows(m)
}

// identity identifies the records of the rows of a group.
type identity struct {
	number    tfbridge.Output // position in the order of the epoch
	locations tfbridge.Output
}

// nameSequences adds the automatic outputs that are known for records.
func (b *groups) nameSequences(s *graph.Scope, columns map[string]column.Column, features []column.Column, id identity) {
	for _, o := range b.chunks.Outputs {
		switch f := b.chunks.TagFeature; {
		case o.Kind == spec.SeqIdx:
			columns[o.To] = column.Column{Values: graph.Cast(s, id.number, tfbridge.Int32)}
		case o.Kind != spec.SeqTag:
		case f != nil:
			columns[o.To] = features[slices.Index(b.Parse.Features, f)]
		default:
			columns[o.To] = column.Column{Values: b.locationNames(s, id.locations)}
		}
	}
}

// locationNames returns the names of locations: PATH:N.
func (b *groups) locationNames(s *graph.Scope, locations tfbridge.Output) tfbridge.Output {
	var names []string
	for _, f := range b.Files.List {
		names = append(names, f.Name)
	}
	file := graph.Subscript(s, locations, graph.Whole(), graph.At(0))
	record := graph.Subscript(s, locations, graph.Whole(), graph.At(1))
	return graph.StringJoin(s, ":", graph.GatherV2(s, s.Const(names), file, 0), graph.AsString(s, record))
}

// padFrames pads within the frames of a column, or within its records if it has no
// frames.
func (b *groups) padFrames(s *graph.Scope, c *chunkColumn, x column.Column) column.Column {
	i := c.tensor
	switch {
	case c.ragged:
		x.Values = b.processor.PadAxes(s, x.Values, process.Axes{Tensor: i, From: 1, Front: 1})
	case c.sequence != nil:
		x.Values = b.processor.PadAxes(s, x.Values, process.Axes{Tensor: i, From: 1, Front: 2})
	default:
		x.Values = b.processor.PadAxes(s, x.Values, process.Axes{Tensor: i, Front: 1})
	}
	return x
}
