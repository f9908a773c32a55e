package native

import (
	"maps"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// ChunkPart is the content of a component of a batch of rows.
type ChunkPart string

// The parts. The parts from RowStart on belong to no column.
const (
	Row         ChunkPart = "row"      // the frames of each row, padded; a column without frames is unchanged
	Joined      ChunkPart = "joined"   // the frames of the only row, without an axis for rows
	RowSplits   ChunkPart = "splits"   // int64: 0 and the number of frames of the only row
	RowSize     ChunkPart = "size"     // int32: the number of frames of each row, with context, without padding
	RowLength   ChunkPart = "length"   // int64: the same as RowSize
	RowMask     ChunkPart = "mask"     // bool: true for frames, padded with false
	RowElements ChunkPart = "elements" // int64: the number of values of each row
	RowStart    ChunkPart = "start"    // int32: the first frame of each row, without context
	RowEnd      ChunkPart = "end"      // bool: whether a row is the last of all
	RowPlace    ChunkPart = "place"    // int64, [rows, 3]: the location of each row's record
)

// ChunkColumn is a tensor of the records that rows are cut from.
type ChunkColumn struct {
	Name        string // name in messages
	Ragged      bool   // records differ in length along the first axis
	Sequence    bool   // has a time axis, the first one
	Left, Right int64  // frames of context
	Fixed       int64  // frames that rows are padded to, more are an error; -1: the longest of the batch
	Fill        tfbridge.Output
}

// ChunkComponent is a component of a batch of rows.
type ChunkComponent struct {
	Part   ChunkPart
	Column int        // index of the column, for parts that belong to one
	Each   int64      // for RowElements: the number of values of a frame
	Spec   graph.Spec // spec of the component
}

// ChunkOptions are the rules by which [Chunks] makes rows and batches.
type ChunkOptions struct {
	Size, Step int64 // frames of a chunk, and frames from the start of one to the start of the next; 0: rows are whole sequences
	DropTail   bool  // drop chunks shorter than Size
	Aligned    bool  // sequences of a record that differ in length are an error
	Frames     int64 // limit of a batch: the longest row of each sequence times the number of rows
	MaxRows    int64 // limit of a batch; 0: any number
	Columns    []ChunkColumn
	Components []ChunkComponent

	// PlacedFiles are the names of the files that the locations of records refer to by
	// number, a vector of strings.
	PlacedFiles tfbridge.Output
}

// Chunks cuts the sequences that d yields into rows and batches the rows by a budget of
// frames. An element of d is a group of records: for each column the values of all
// records, and for a ragged column an int64 vector with the start of each record in
// them; then the locations of the records, [records, 3]: the number of the file, the
// record in it and its offset. After a failure every further element is the same
// failure.
func Chunks(d *dataset.Dataset, o *ChunkOptions) *dataset.Dataset {
	s := d.Scope()
	specs, all, fills := o.attrs()
	return add(s, opChunkBatch, specs, all, d.Variant(), o.rules(s), o.PlacedFiles, fills)
}

// ChunkFiles says how [ChunkRecords] reads records.
type ChunkFiles struct {
	Examples    bool      // records are Examples, as in [Sequence], and not SequenceExamples
	Features    []Feature // features to decode
	Of          []int     // the feature that each column is
	BufferBytes int64     // bytes per read of a record that is out of order; default 256 KiB
	Threads     int64     // threads that read and decode records, at most one per processor; default 1
}

// ChunkRecords is [Records], [DecodeSequences] and [Chunks] in one: the records of
// uncompressed local files go from the file's bytes into the batches. Files and counts
// are as for [Examples]; PlacedFiles of the options is not used. Elements are atomic:
// after a failure, the next read begins the same element again.
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
