package reader

import (
	"millrace/graph"
)

// TFRecordOptions are the options of [NewTFRecord]. Nil and the zero value mean the
// defaults.
type TFRecordOptions struct {
	Options
	CompressionType string // of all files: "GZIP", "ZLIB", or "" for none
}

// NewTFRecord adds a reader of TFRecord files. A value is a record, a key is
// "file:offset" with the offset of the record in the uncompressed file.
//
// It wraps TFRecordReaderV2.
func NewTFRecord(s *graph.Scope, o *TFRecordOptions) *Reader {
	if o == nil {
		o = &TFRecordOptions{}
	}
	return newReader(s, "TFRecordReaderV2", map[string]any{"compression_type": o.CompressionType}, &o.Options, checkCompression("CompressionType", o.CompressionType))
}
