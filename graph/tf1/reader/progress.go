package reader

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// ReadUpTo adds an operation that reads up to n records of one file, n being a
// scalar int64. Keys and values are vectors of strings of the same length. It
// returns fewer at the end of a file, but at least one.
//
// It wraps ReaderReadUpToV2, or MillraceReaderReadUpTo for the reader of
// [NewTFRecord], which reads in the thread of the run.
func (r *Reader) ReadUpTo(s *graph.Scope, files *queue.Queue, n tfbridge.Output) (keys, values tfbridge.Output) {
	if !r.takes(s, files) {
		return
	}
	if got := graph.SpecOf(n); got.DType != tfbridge.Int64 || !got.Shape.IsCompatibleWith(tfbridge.ScalarShape()) {
		r.fail(s, millrace.Errorf(millrace.ErrModel, "the number of records is %v, must be a scalar int64", got))
		return
	}
	opType := "ReaderReadUpToV2"
	if r.opType == TFRecordOp {
		opType = "MillraceReaderReadUpTo"
	}
	kv := s.Op(opType, nil, r.handle, files.Handle(), scalar(s, n))
	return kv[0], kv[1]
}

// NumRecordsProduced adds an operation that counts the records that were read, a
// scalar int64. It waits while a read of the same reader waits, except with the reader
// of [NewTFRecord].
//
// It wraps ReaderNumRecordsProducedV2.
func (r *Reader) NumRecordsProduced(s *graph.Scope) tfbridge.Output {
	return s.Op1("ReaderNumRecordsProducedV2", nil, r.handle)
}

// NumWorkUnitsCompleted adds an operation that counts the files that were read to
// their end, a scalar int64. It waits while a read of the same reader waits, except
// with the reader of [NewTFRecord].
//
// It wraps ReaderNumWorkUnitsCompletedV2.
func (r *Reader) NumWorkUnitsCompleted(s *graph.Scope) tfbridge.Output {
	return s.Op1("ReaderNumWorkUnitsCompletedV2", nil, r.handle)
}

// Reset adds an operation that brings the reader back to its initial state. It
// forgets the file that it was reading, and counts from 0.
//
// It wraps ReaderResetV2.
func (r *Reader) Reset(s *graph.Scope) *tfbridge.Operation {
	return s.AddOperation(tfbridge.OpSpec{Type: "ReaderResetV2", Input: []tfbridge.Input{r.handle}})
}

// SerializeState adds an operation that returns the state of the reader, a scalar
// string. Among TensorFlow's readers only [NewWholeFile] and [NewIdentity] support it.
// For the others it fails with code Unimplemented.
//
// It wraps ReaderSerializeStateV2.
func (r *Reader) SerializeState(s *graph.Scope) tfbridge.Output {
	return s.Op1("ReaderSerializeStateV2", nil, r.handle)
}

// RestoreState adds an operation that restores a state of [Reader.SerializeState], a
// scalar string. A damaged state, or a state of another kind of reader, fails with code
// InvalidArgument and resets the reader.
//
// It wraps ReaderRestoreStateV2.
func (r *Reader) RestoreState(s *graph.Scope, state tfbridge.Output) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	if got := graph.SpecOf(state); got.DType != tfbridge.String || !got.Shape.IsCompatibleWith(tfbridge.ScalarShape()) {
		r.fail(s, millrace.Errorf(millrace.ErrModel, "the state is %v, must be a scalar string", got))
		return nil
	}
	return s.AddOperation(tfbridge.OpSpec{Type: "ReaderRestoreStateV2", Input: []tfbridge.Input{r.handle, scalar(s, state)}})
}

// scalar returns x, with a check at run time that it is a scalar if its shape is
// unknown. TensorFlow's kernels read the first element without a check.
func scalar(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	if x.Shape().NumDimensions() == 0 {
		return x
	}
	return graph.Reshape(s, x, s.Zeros(tfbridge.Int32, 0))
}
