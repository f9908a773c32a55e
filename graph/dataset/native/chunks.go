package native

import (
	"maps"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// ChunkPart says what a component of a batch of rows is.
type ChunkPart string

// The parts. Those from RowStart on are of no column.
const (
	Row         ChunkPart = "row"      // the frames of each row, padded; a column without frames as it is
	Joined      ChunkPart = "joined"   // the frames of the only row, without an axis for rows
	RowSplits   ChunkPart = "splits"   // int64: 0 and the frames of the only row
	RowSize     ChunkPart = "size"     // int32: the frames of each row, context counted, padding not
	RowLength   ChunkPart = "length"   // int64: likewise
	RowMask     ChunkPart = "mask"     // bool: true for frames, padded with false
	RowElements ChunkPart = "elements" // int64: the values of each row
	RowStart    ChunkPart = "start"    // int32: the first frame of each row, without context
	RowEnd      ChunkPart = "end"      // bool: whether a row is the last of all
	RowPlace    ChunkPart = "place"    // int64, [rows, 3]: the place of each row's record
)

// ChunkColumn is a tensor of the records that rows are cut from.
type ChunkColumn struct {
	Name        string // for messages
	Ragged      bool   // records differ in length along the first axis
	Sequence    bool   // has a time axis, the first one
	Left, Right int64  // frames of context
	Fixed       int64  // frames that rows are padded to, more are an error; -1: the longest of the batch
	Fill        tfbridge.Output
}

// ChunkComponent is a component of a batch of rows.
type ChunkComponent struct {
	Part   ChunkPart
	Column int        // of a part that is of a column
	Each   int64      // of RowElements: how many values a frame has
	Spec   graph.Spec // of the component
}

// ChunkOptions are the rules by which [Chunks] makes rows and batches.
type ChunkOptions struct {
	Size, Step int64 // frames of a chunk, and from one to the next; 0: rows are whole sequences
	DropTail   bool  // leave out chunks shorter than Size
	Aligned    bool  // sequences of a record that differ in length are an error
	Frames     int64 // of a batch: the longest row of each sequence times the number of rows
	MaxRows    int64 // of a batch; 0: any number
	Columns    []ChunkColumn
	Components []ChunkComponent

	// PlacedFiles are the names of the files that the places of records number, a
	// vector of strings.
	PlacedFiles tfbridge.Output
}

// Chunks cuts the sequences that d yields into rows and batches the rows by a
// budget of frames. An element of d is a group of records: for each column the
// values of all records, and of a ragged one an int64 vector of where each
// record begins in them; then the places of the records, [records, 3]: the
// number of the file, the record in it and its offset. After a failure every
// further element is the same failure.
func Chunks(d *dataset.Dataset, o *ChunkOptions) *dataset.Dataset {
	s := d.Scope()
	specs, all, fills := o.attrs()
	return add(s, opChunkBatch, specs, all, d.Variant(), o.rules(s), o.PlacedFiles, fills)
}

// ChunkFiles says how [ChunkRecords] reads records.
type ChunkFiles struct {
	Examples    bool      // records are Examples, as in [Sequence], and not SequenceExamples
	Features    []Feature // to decode
	Of          []int     // the feature that each column is
	BufferBytes int64     // to read at a time of a record that is out of order; default 256 KiB
	Threads     int64     // that read and decode records, no more than there are processors; default 1
}

// ChunkRecords is [Records], [DecodeSequences] and [Chunks] in one: the records
// of uncompressed local files go from the file's bytes into the batches. Files
// and counts are as for [Examples]; PlacedFiles of the options is not used. An
// element is whole or was not begun: asked again after a failure, the dataset
// begins it again.
func ChunkRecords(s *graph.Scope, filenames, counts tfbridge.Output, f *ChunkFiles, o *ChunkOptions) *dataset.Dataset {
	const op = opChunkRecords
	limit.Between(0, maxBuffer).Check(s, op+": buffer", f.BufferBytes)
	limit.Between(0, maxThreads).Check(s, op+": threads", f.Threads)
	q := &Sequence{Examples: f.Examples, Features: f.Features}
	specs, all, fills := o.attrs()
	maps.Copy(all, q.featureAttrs(s, op))
	features := make([]int64, len(f.Of))
	for i, of := range f.Of {
		features[i] = int64(of)
	}
	all["features"] = features
	buffer := f.BufferBytes
	if buffer == 0 {
		buffer = defaultBuffer
	}
	return add(s, op, specs, all, filenames, counts, o.rules(s), s.Const(buffer), s.Const(max(f.Threads, 1)), fills)
}

// rules returns the input with the rules by which rows are cut and batched.
func (o *ChunkOptions) rules(s *graph.Scope) tfbridge.Output {
	return s.Const([]int64{o.Size, o.Step, o.Frames, o.MaxRows})
}

// attrs returns the components of batches, and the attributes and the last
// input of an operation that makes them.
func (o *ChunkOptions) attrs() (specs []graph.Spec, all attrs, fills tfbridge.OutputList) {
	var parts []string
	var of, each []int64
	for _, c := range o.Components {
		specs, parts = append(specs, c.Spec), append(parts, string(c.Part))
		of, each = append(of, int64(c.Column)), append(each, c.Each)
	}
	all = attrs{"parts": parts, "of": of, "each": each, "aligned": o.Aligned, "keep_tail": !o.DropTail}
	return specs, all, columnAttrs(all, o.Columns)
}

// columnAttrs adds the attributes of columns, and returns the values to pad
// them with.
func columnAttrs(all attrs, columns []ChunkColumn) (fills tfbridge.OutputList) {
	var names []string
	var ragged, sequence []bool
	var left, right, fixed []int64
	for _, c := range columns {
		names, fills = append(names, c.Name), append(fills, c.Fill)
		ragged, sequence = append(ragged, c.Ragged), append(sequence, c.Sequence)
		left, right, fixed = append(left, c.Left), append(right, c.Right), append(fixed, c.Fixed)
	}
	all["names"], all["ragged"], all["sequence"] = names, ragged, sequence
	all["left"], all["right"], all["fixed"] = left, right, fixed
	return fills
}
