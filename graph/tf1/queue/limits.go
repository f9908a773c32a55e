package queue

import (
	"fmt"
	"math"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// # Arguments that would end the process
//
// TensorFlow 2.21 checks most elements that enter and leave a queue. Five cases end the
// process instead of failing the run:
//
//   - A batch whose number of elements does not fit in 63 bits. It need not be
//     large: of elements with shape [2^40, 2^22, 0], which hold nothing, four are
//     too many. In a padding queue two elements are enough that hold nothing, of
//     shapes [2^40, 0] and [0, 2^40], because the batch takes the largest of each
//     dimension.
//   - A scalar for EnqueueMany, if neither the queue nor the graph knows a shape.
//   - A vector of no elements for the number of elements to dequeue.
//   - A negative number of elements to take from a barrier.
//   - A min_after_dequeue for which there is no memory: the queue reserves
//     32 bytes for each tensor when it is made.
//
// The last case is refused while the graph is built. The graph's shapes nearly always
// rule the others out. Otherwise an Assert, or a Reshape to a scalar, runs before the
// operation. A check of batches needs a limit for each open dimension of an element,
// before the other elements of its batch are known: rows times each limit times the
// known dimensions must fit in 63 bits.

const (
	// most is the largest number of elements in a batch. TensorFlow allows one bit
	// more; the margin is for floating-point roots.
	most = math.MaxInt64 / 2
	// maxReserved is the number of tensors that MinAfterDequeue may reserve memory for,
	// which is 2 GiB.
	maxReserved = 1 << 26
	// maxPaddedRows is the largest batch of elements with two open dimensions or more.
	// With it, two open dimensions may be up to 11 million each, three up to 50,000.
	maxPaddedRows = 1 << 16
)

// limits are the limits of the elements of a queue.
type limits struct {
	rows int64   // rows of a batch
	dims []int64 // size of the open dimensions of each component; -1 if it has none
}

// newLimits returns the limits of a queue with these components.
func newLimits(components []graph.Spec) limits {
	l := limits{rows: math.MaxInt32}
	for _, c := range components {
		open, known := 0, int64(1)
		for _, d := range c.Shape.Dims() {
			switch {
			case d < 0:
				open++
			case d > 0 && known > most/d:
				known = most
			case d > 0:
				known *= d
			}
		}
		rows, dim := most/known, int64(-1)
		if open > 0 {
			rows = math.MaxInt32
			if open > 1 || known > maxPaddedRows {
				rows = maxPaddedRows
			}
			dim = int64(math.Pow(float64(most/known/rows), 1/float64(open)))
		}
		l.rows, l.dims = min(l.rows, rows), append(l.dims, dim)
	}
	return l
}

// merge returns the limits that satisfy both.
func (l limits) merge(other limits) limits {
	l.rows, l.dims = min(l.rows, other.rows), slices.Clone(l.dims)
	for i, d := range other.dims {
		if l.dims[i] < 0 || d >= 0 && d < l.dims[i] {
			l.dims[i] = d
		}
	}
	return l
}

// checkReserve returns an error if a queue would reserve too much memory.
func checkReserve(minAfterDequeue int, components []graph.Spec) error {
	if n := int64(len(components)); n > 0 && int64(minAfterDequeue) > maxReserved/n {
		return millrace.Errorf(millrace.ErrLimit, "MinAfterDequeue is %d; with %d components it must not exceed %d, because the queue reserves memory for so many at once",
			minAfterDequeue, n, maxReserved/n)
	}
	return nil
}

// guard returns n, a scalar int32. The run fails if n is not a scalar, is negative, or
// is larger than the maximum batch. count is the constant value of n, or -1. who names
// the queue or barrier.
func (l limits) guard(s *graph.Scope, who string, n tfbridge.Output, count int64) tfbridge.Output {
	if count >= 0 {
		return n
	}
	n = scalar(s, n)
	inside := graph.LogicalAnd(s, graph.GreaterEqual(s, n, s.Const(int32(0))), graph.LessEqual(s, n, s.Const(int32(l.rows))))
	message := s.Const(fmt.Sprintf("%s: a batch has from 0 to %d elements, not ", who, l.rows))
	return graph.Identity(s.WithControlDependencies(graph.Assert(s, inside, []tfbridge.Output{message, n}, nil)), n)
}

// check returns an error for a batch whose static shape is too large.
func (l limits) check(count int64) error {
	if count <= l.rows {
		return nil
	}
	return millrace.Errorf(millrace.ErrLimit, "%d elements are too many for a batch; at most %d fit in a tensor", count, l.rows)
}

// scalar returns x, with a check at run time that it is a scalar if its shape is
// unknown. TensorFlow's kernels read the first element without a check.
func scalar(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	if x.Shape().NumDimensions() == 0 {
		return x
	}
	return graph.Reshape(s, x, s.Zeros(tfbridge.Int32, 0))
}

// guardValues adds the assertions that values need, and returns a scope whose
// operations run after them. If rows is true, the values are stacked.
func (q *Queue) guardValues(s *graph.Scope, values []tfbridge.Output, rows bool) *graph.Scope {
	var checks []*tfbridge.Operation
	for i, v := range values {
		name := q.String() + ": " + describe(i, q.components[i].Name)
		if limit := q.limits.dims[i]; limit >= 0 && !within(v.Shape(), limit, rows) {
			shape := s.Op1("Shape", map[string]any{"out_type": tfbridge.Int64}, v)
			if rows {
				shape = s.Op1("Slice", nil, shape, s.Const([]int64{1}), s.Const([]int64{-1}))
			}
			ok := graph.ReduceAll(s, graph.LessEqual(s, shape, s.Const(limit)))
			message := s.Const(name + " has a dimension that is too large to be padded: ")
			checks = append(checks, graph.Assert(s, ok, []tfbridge.Output{message, shape}, &graph.AssertOptions{Summarize: -1}))
		}
		if rows && v.Shape().NumDimensions() < 0 {
			rank := graph.Rank(s, v)
			message := s.Const(name + " gets a scalar; many elements need a first dimension that counts them")
			checks = append(checks, graph.Assert(s, graph.Greater(s, rank, s.Const(int32(0))), []tfbridge.Output{message}, nil))
		}
	}
	return s.WithControlDependencies(checks...)
}

// within reports whether a shape is known to have no dimension over limit, apart
// from the first if rows is true.
func within(shape tfbridge.Shape, limit int64, rows bool) bool {
	dims := shape.Dims()
	if dims == nil {
		return false
	}
	if rows && len(dims) > 0 {
		dims = dims[1:]
	}
	return !slices.ContainsFunc(dims, func(d int64) bool { return d < 0 || d > limit })
}
