// Package myreader decodes records of the format in cc/my_reader_record_op.cc.
//
//	if _, err := tfbridge.LoadLibrary("./myreader.so"); err != nil {
//		log.Fatal(err)
//	}
//	s := graph.NewScope()
//	defer s.Graph().Close()
//	records := dataset.TFRecords(s, s.Const(files), nil).Batch(128, false)
//	for batch, err := range dataset.Iterate[myreader.Batch](ctx, myreader.Decode(records, 3), nil) {
//		...
//	}
//
// "millrace ops build" makes myreader.so, and "go generate" the functions of its
// operations in ops_gen.go.
package myreader

//go:generate millrace ops wrap myreader.so --package myreader --out ops_gen.go

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Batch is a batch of decoded records.
type Batch struct {
	Label  []int64     `tf:"label"`
	Values [][]float32 `tf:"values"`
}

// outputs are the same in a graph.
type outputs struct {
	Label  tfbridge.Output `tf:"label"`
	Values tfbridge.Output `tf:"values"`
}

// Decode decodes the elements of a dataset: batches of records, or single ones. An
// error has the record's number in the batch.
func Decode(records *dataset.Dataset, numValues int64) *dataset.Dataset {
	return dataset.MapOf(records, "decode", func(s *graph.Scope, records tfbridge.Output) outputs {
		label, values := DecodeMyReader(s, records, s.Const([]string{}), numValues)
		return outputs{label, values}
	}, nil)
}

// DecodeKeyed is Decode for tuples of records and their keys, which are in errors.
func DecodeKeyed(keyed *dataset.Dataset, numValues int64) *dataset.Dataset {
	return dataset.MapOf(keyed, "decode", func(s *graph.Scope, in struct{ Records, Keys tfbridge.Output }) outputs {
		label, values := DecodeMyReader(s, in.Records, in.Keys, numValues)
		return outputs{label, values}
	}, nil)
}
