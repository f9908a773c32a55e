package native

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// BlocksOptions say which blocks [GatherBlocks] yields. All fields but WaitMS are required.
type BlocksOptions struct {
	Rows     int64           // rows of a block
	Start    tfbridge.Output // int64 scalar: the position of the first row to deliver
	Last     int64           // the number after the last block
	Buffered int64           // how many blocks may wait for the ones before them
	WaitMS   int64           // how long to wait for any block before the next one is made here
}

// GatherBlocks yields blocks of rows in their order, each once. d yields the number of a block, an
// int64 scalar, and its components, whose first dimension counts rows: in any order, with
// blocks missing or repeated, such as a dataset of a data service gives them. fn makes the
// components of a block that no worker sends.
func GatherBlocks(d *dataset.Dataset, o *BlocksOptions, fn func(s *graph.Scope, number tfbridge.Output) []tfbridge.Output) *dataset.Dataset {
	s := d.Scope()
	if s.Err() != nil {
		return none(s)
	}
	number := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	f := s.Func("block_here", []graph.Spec{number}, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return fn(s, args[0])
	})
	if s.Err() != nil {
		return none(s)
	}
	return add(s, opGatherBlocks, d.Specs()[1:], attrs{"f": f.Attr()}, d.Variant(), s.Const(o.Rows), o.Start, s.Const(o.Last), s.Const(o.Buffered), s.Const(o.WaitMS), f.Inputs())
}

// ServiceReport says what the process is that runs it, a string vector: the machine and the
// process, the file name of the library of operations, and what is wrong with the first of some
// files that is not there, cannot be opened or has another size, "" if all are as given.
// filenames is a string vector, and sizes an int64 vector of their bytes.
func ServiceReport(s *graph.Scope, filenames, sizes tfbridge.Output) tfbridge.Output {
	return s.Op1(opServiceReport, nil, filenames, sizes)
}
