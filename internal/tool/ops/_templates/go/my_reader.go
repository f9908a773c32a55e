// Package myreader reads files of a format, in Go. It is a starting point: change
// the format of the file (file.Next) and of a record (DecodeRecord) to yours.
//
//	s := graph.NewScope()
//	defer s.Graph().Close()
//	rows := myreader.Dataset(s, "a.rec", "b.rec").Batch(128, false)
//	for batch, err := range dataset.Iterate[...](ctx, rows, nil) {
//		...
//	}
//
// The file's format is as small as one can be, and a record's is a label and a
// text:
//
//	| length: 4 bytes, little-endian | record: length bytes | length | ...
//	                                 | label: 8 bytes | text |
package myreader

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Row is what a record holds. Each field is a tensor, by the name of its tag.
type Row struct {
	Label int64  `tf:"label"`
	Text  string `tf:"text"`
}

// DecodeRecord decodes a record. Several goroutines may call it at once.
func DecodeRecord(record []byte) (Row, error) {
	if len(record) < 8 {
		return Row{}, fmt.Errorf("%d bytes, want at least 8", len(record))
	}
	return Row{Label: int64(binary.LittleEndian.Uint64(record)), Text: string(record[8:])}, nil
}

// Dataset returns the rows of files, one file after the other.
func Dataset(s *graph.Scope, filenames ...string) *dataset.Dataset {
	decoder, err := dataset.NewRecordDecoder(DecodeRecord, &dataset.RecordDecoderOptions{Name: "myreader"})
	if err != nil {
		s.UpdateErr("myreader", err)
	}
	// Records and their keys, many for one call of DecodeRecord's operation.
	const together = 256
	keyed := dataset.MapOf(Records(s, filenames...).Batch(together, false), "keyed", func(_ *graph.Scope, r keyedRecords) []tfbridge.Output {
		return []tfbridge.Output{r.Data, r.Key}
	}, nil)
	return keyed.DecodeRecords(decoder, &dataset.MapOptions{Parallel: dataset.Autotune}).Unbatch()
}

// Record is a record of a file and its key, which is in errors.
type Record struct {
	Data string `tf:"data"`
	Key  string `tf:"key"`
}

// keyedRecords are records and keys in a graph.
type keyedRecords struct {
	Data tfbridge.Output `tf:"data"`
	Key  tfbridge.Output `tf:"key"`
}

// Records returns the records of files, undecoded. The state of an iterator over
// them is a position: file, record and offset.
func Records(s *graph.Scope, filenames ...string) *dataset.Dataset {
	return dataset.FromReader(s, func(_ context.Context, state []byte) (dataset.Reader[Record], error) {
		r := &reader{filenames: filenames}
		if state == nil {
			return r, nil
		}
		if err := json.Unmarshal(state, &r.at); err != nil {
			return nil, millrace.Errorf(millrace.ErrCheckpoint, "read the state of myreader: %w", err)
		}
		return r, nil
	}, &dataset.ReaderOptions{Name: "myreader"})
}
