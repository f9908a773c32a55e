package native

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// RecordsOptions are the options of [Records].
type RecordsOptions struct {
	Compression string // "" none, "GZIP" or "ZLIB"
	BufferBytes int64  // to read at a time; default 256 KiB

	// Placed has every record carry its place, for a later [Parse] or
	// [Decode] with PlacedFiles: then these can tell the place of a record
	// that is wrong, whatever was shuffled and mixed in between. Nothing else
	// can read such records. FirstFile is the number of the first of the
	// filenames among PlacedFiles, an int64 scalar; not set: 0.
	Placed    bool
	FirstFile tfbridge.Output
}

// Records returns the records of TFRecord files, each a string. It reads one
// file after the other: local ones by itself, "file://" or not, and those of
// another scheme through TensorFlow's file systems. No file can end the
// process or take more memory than its largest record, of at most 256 MiB.
// Both checksums of every record are checked.
//
// Filenames are a string scalar or vector, counts the numbers of their records
// in the same shape, int64, -1 where it is not known. Another number is an
// error of code FailedPrecondition, so that no file ends early unseen; an empty
// vector of counts means that none is known. What is wrong with a file is a
// *millrace.Error with its file, record and offset; asking again gives the same
// error.
func Records(s *graph.Scope, filenames, counts tfbridge.Output, o *RecordsOptions) *dataset.Dataset {
	const op = opRecords
	if o == nil {
		o = &RecordsOptions{}
	}
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
	variant := s.Op1(op, all, filenames, counts, first, s.Const(buffer))
	if s.Err() != nil {
		return none(s)
	}
	return dataset.FromVariant(s, variant, specs)
}
