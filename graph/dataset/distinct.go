package dataset

import (
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// Unique gives the elements that did not come before. Elements have one
// component, of int32, int64 or strings; those seen are kept in memory. It
// wraps UniqueDataset.
func (d *Dataset) Unique() *Dataset {
	d = d.orNone()
	if d.scope.Err() == nil {
		ok := len(d.specs) == 1
		if ok {
			switch d.specs[0].DType {
			case tfbridge.Int32, tfbridge.Int64, tfbridge.String:
			default:
				ok = false
			}
		}
		if !ok {
			return d.fail("Dataset.Unique", "elements are %v, must be one tensor of int32, int64 or string", d.Spec())
		}
	}
	return d.same("UniqueDataset", nil)
}

// AssertNext is an error, of code InvalidArgument, unless the transformations
// that TensorFlow runs after d begin with these names, such as "MapAndBatch":
// tests see by it what became of a pipeline. It wraps AssertNextDataset.
func (d *Dataset) AssertNext(names ...string) *Dataset {
	d = d.orNone()
	if len(names) == 0 {
		return d.fail("Dataset.AssertNext", "there are no names")
	}
	return d.same("AssertNextDataset", nil, d.scope.Const(names))
}

// BatchParallel is [Dataset.Batch] that copies up to parallel batches at a
// time; parallel may be [Autotune]. The order is kept. It wraps
// ParallelBatchDataset.
func (d *Dataset) BatchParallel(n int64, drop bool, parallel int64) *Dataset {
	d = d.orNone()
	limit.Between(1, limit.BatchSize(drop)).Check(d.scope, "Dataset.BatchParallel: size", n)
	limit.Between(Autotune, limit.Parallel).Check(d.scope, "Dataset.BatchParallel: parallel calls", parallel)
	if parallel == 0 {
		return d.Batch(n, drop)
	}
	return d.then("ParallelBatchDataset", d.batched(n, drop, d.specs),
		attrs{"parallel_copy": true, "deterministic": determinism(false)},
		d.scope.Const(n), d.scope.Const(parallel), d.scope.Const(drop)).batchOf(d, n, drop)
}
