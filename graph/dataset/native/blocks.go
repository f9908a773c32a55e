package native

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// BlocksOptions say which blocks [GatherBlocks] yields. All fields but WaitMS, Missing and AnyOrder
// are required.
type BlocksOptions struct {
	Rows     int64           // rows of a block
	Start    tfbridge.Output // int64 scalar: the position from which on all rows are delivered
	Last     int64           // the number after the last block
	Buffered int64           // how many blocks may wait for the ones before them, or come before them
	WaitMS   int64           // how long to wait for any block before the next one is made here

	// Missing is an int64 vector: the begin and the end of each part of the order before Start
	// that is delivered, too, ascending. Unset: none.
	Missing tfbridge.Output

	AnyOrder bool // blocks come as they arrive, and not in their order
}

// GatherBlocks yields blocks of rows, each once. d yields the number of a block, an int64 scalar,
// and its components, whose first dimension counts rows: in any order, with blocks missing or
// repeated, such as a dataset of a data service gives them. fn makes the components of a block that
// no worker sends. After the components of d the dataset has the positions of the rows, an int64
// vector.
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
	missing := o.Missing
	if missing.Op == nil {
		missing = s.Const([]int64{})
	}
	specs := append(slices.Clone(d.Specs()[1:]), graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)})
	return add(s, opGatherBlocks, specs, attrs{"f": f.Attr(), "any_order": o.AnyOrder}, d.Variant(), s.Const(o.Rows), o.Start, s.Const(o.Last), s.Const(o.Buffered), s.Const(o.WaitMS), missing, f.Inputs())
}

// ServiceReport says what the process is that runs it, a string vector: the machine and the
// process, the file name of the library of operations, and what is wrong with the first of some
// files that is not there, cannot be opened or has another size, "" if all are as given.
// filenames is a string vector, and sizes an int64 vector of their bytes.
func ServiceReport(s *graph.Scope, filenames, sizes tfbridge.Output) tfbridge.Output {
	return s.Op1(opServiceReport, nil, filenames, sizes)
}
