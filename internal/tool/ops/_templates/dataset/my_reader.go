// Package myreader reads files of the format in cc/my_reader_dataset_op.cc.
//
//	if _, err := tfbridge.LoadLibrary("./myreader.so"); err != nil {
//		log.Fatal(err)
//	}
//	s := graph.NewScope()
//	defer s.Graph().Close()
//	records := myreader.Records(s, "a.rec", "b.rec")
//	for record, err := range dataset.Iterate[string](ctx, records, nil) {
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

// bufferSize is how many bytes are read at a time.
const bufferSize = 256 << 10

// specs are the types and shapes of an element: what output_dtypes and
// output_shapes say in C++. TensorFlow compares them when an iterator is made.
var specs = []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}

// Records returns the records of files, one file after the other, each a scalar
// string. An error about a record is a *millrace.Error with its file, record and
// offset.
func Records(s *graph.Scope, filenames ...string) *dataset.Dataset {
	return MyReader(s, s.Const(filenames), s.Const(int64(bufferSize)), specs)
}
