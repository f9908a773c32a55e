package native

import (
	"maps"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// RecordsOptions are the options of [Records].
type RecordsOptions struct {
	Compression string // "" none, "GZIP" or "ZLIB"
	BufferBytes int64  // bytes per read; default 256 KiB

	// Placed appends its location to every record, for a later [Parse] or [Decode] with
	// PlacedFiles. These can then report the location of a bad record, however the
	// records were shuffled and mixed in between. Other operations cannot read such
	// records. FirstFile is the number of the first of the filenames among PlacedFiles,
	// an int64 scalar; not set: 0.
	Placed    bool
	FirstFile tfbridge.Output

	// Check decides which records are skipped, of those that cannot be read or that do
	// not decode to Good. Its file indices count from FirstFile. Nil: the first record
	// that cannot be read is a failure, and all others are returned.
	Check Check
	Good  *GoodRecords

	// Skip lists bad records to skip; it excludes Check. Its file indices count from
	// FirstFile.
	Skip []Skip
}

// GoodRecords describes the features that a record must decode to.
type GoodRecords struct {
	Examples bool // records are Examples, as in [Sequence]
	Features []Feature
	Most     []int64 // for each feature the maximum number of elements of a list; -1: any number
}

// attrs adds the attributes of an operation with a check.
func (g *GoodRecords) attrs(s *graph.Scope, op string, to attrs) {
	if g == nil || len(g.Most) != len(g.Features) {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "a check of records needs features, and how many elements each may have"))
		return
	}
	q := Sequence{Examples: g.Examples, Features: g.Features}
	maps.Copy(to, q.featureAttrs(s, op))
	to["most"] = g.Most
}

// Records returns the records of TFRecord files, each a string. It reads one
// file after the other: local ones by itself, "file://" or not, and those of
// another scheme through TensorFlow's file systems. No file can end the
// process or take more memory than its largest record, of at most 256 MiB.
// Both checksums of every record are checked.
//
// Filenames are a string scalar or vector, counts the numbers of their records in the
// same shape, int64, -1 where it is unknown. If a file has another number of records,
// that is an error of code FailedPrecondition, so a truncated file never passes
// unnoticed. An empty vector of counts means that all are unknown. A fault in a file is
// a *millrace.Error with its file, record and offset, and is sticky.
func Records(s *graph.Scope, filenames, counts tfbridge.Output, o *RecordsOptions) *dataset.Dataset {
	if o == nil {
		o = &RecordsOptions{}
	}
	op := o.Check.op(opRecords, opCheckedRecords)
	limit.Between(0, maxBuffer).Check(s, op+": buffer", o.BufferBytes)
	buffer, first := o.BufferBytes, o.FirstFile
	if buffer == 0 {
		buffer = defaultBuffer
	}
	if first.Op == nil {
		first = s.Const(int64(0))
	}
	specs := []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}
	all := attrs{"compression": compression(s, op, o.Compression), "placed": o.Placed}
	inputs := []tfbridge.Input{filenames, counts, first, s.Const(buffer)}
	if o.Check != nil {
		o.Good.attrs(s, op, all)
		inputs = append(inputs, o.Check.add(s, all)...)
	}
	addSkips(s, op, o.Skip, o.Check, all)
	variant := s.Op1(op, all, inputs...)
	if s.Err() != nil {
		return none(s)
	}
	return dataset.FromVariant(s, variant, specs)
}
