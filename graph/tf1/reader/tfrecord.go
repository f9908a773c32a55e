package reader

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// TFRecordOptions are the options of [NewTFRecord]. Nil and the zero value mean the
// defaults.
type TFRecordOptions struct {
	Options
	CompressionType string // compression of all files: "GZIP", "ZLIB", or "" for none
	TensorFlow      bool   // use TensorFlow's own reader, which damaged files can crash
}

// TFRecordOp is the operation type of our own reader of TFRecord files.
const TFRecordOp = "MillraceTFRecordReader"

// NewTFRecord adds a reader of TFRecord files. A value is a record, a key is
// "file:offset" with the offset of the record in the uncompressed file.
//
// It is an operation of our own library (package native): damage in a file is always an
// error that names its location. A further read fails in the same way, until the reader
// is reset. Without the library the scope fails. With the option TensorFlow it wraps
// TFRecordReaderV2: a damaged header can end the process, and a file that is cut in a
// header, or in a compressed block, looks complete.
func NewTFRecord(s *graph.Scope, o *TFRecordOptions) *Reader {
	if o == nil {
		o = &TFRecordOptions{}
	}
	err := checkCompression("CompressionType", o.CompressionType)
	if o.TensorFlow {
		return newReader(s, "TFRecordReaderV2", map[string]any{"compression_type": o.CompressionType}, &o.Options, err)
	}
	if err == nil {
		err = checkLibrary()
	}
	return newReader(s, TFRecordOp, map[string]any{"compression": o.CompressionType}, &o.Options, err)
}

// checkLibrary fails if the library of our own operations is not loaded.
func checkLibrary() error {
	r, err := tfbridge.Open(nil)
	if err == nil && !r.HasOperations() {
		err = millrace.Errorf(millrace.ErrRuntime, "a damaged file can end the process in TensorFlow's reader of TFRecords; \"millrace runtime native\" builds ours, and the option TensorFlow takes theirs all the same")
	}
	return err
}
