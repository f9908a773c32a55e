package trainstep

import (
	"maps"
	"math"
	"slices"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

/*
How several processes make one step

Question: n processes hold the same variables. How do they make the step that one process
would make with the whole batch?

Each process has the whole batch and takes its part of the rows: process r of n takes the
rows from r*rows/n to (r+1)*rows/n. It computes the derivatives of the mean loss of its
part. All-reduce adds the derivatives of all processes and divides by n, and gives each
process the same bits. Where the parts differ in size, each process first multiplies by
its rows * n / rows, so that each example counts alike. A process without rows computes
with one row, and multiplies by 0.

All optimizers, clipping and penalties stand behind the all-reduce, so they need to know
nothing of it, and the variables stay equal in all processes, bit for bit.

TensorFlow's collective operations block a thread each. All values of a dtype are
therefore one vector and one operation: the derivatives, the loss, and the moving
statistics that the signature itself computes, whose mean Keras takes too.

The derivative of an embedding table is rows with their indices. Their sum in the shape of
the table would be large, and another derivative to clipping and to optimizers that change
only the rows which occur. So the rows of all processes are gathered, in the order of the
batch. TensorFlow keeps the shape of each collective operation by its key, and refuses
another one in a later step. The number of rows is therefore padded to a power of two,
which is part of the key: tables have few keys, whatever the numbers of rows.

All processes wait in the all-reduce, so a step takes the same time in each, and nothing
shows which of them the others wait for. Each therefore measures the time from the start of
a run to its own derivatives, and an operation beside the all-reduce gathers these times.
*/

// Replica is one of several processes that train together. Each runs the same graph on
// a session of a cluster, in runs with tfbridge.RunOptions.CollectiveKey.
type Replica struct {
	Rank, Size int           // the process's number, from 0, and how many there are
	Timeout    time.Duration // how long a step waits for the other processes; 0: for ever
}

// check refuses a replica that cannot be.
func (r *Replica) check() error {
	if r.Size < 1 || r.Rank < 0 || r.Rank >= r.Size || r.Timeout < 0 {
		return millrace.Errorf(millrace.ErrConfig, "replica %d of %d with a timeout of %v", r.Rank, r.Size, r.Timeout)
	}
	return nil
}

// alone reports whether this process trains without others.
func (r *Replica) alone() bool { return r == nil || r.Size == 1 }

// share is the part of the batch that a replica takes.
type share struct {
	begin, end tfbridge.Output // int64 vectors of one element
	factor     tfbridge.Output // a scalar, float32: how much the part counts
}

// newShare computes a replica's part of a batch with as many rows as a tensor.
func (r *Replica) newShare(s *graph.Scope, t tfbridge.Output) share {
	long := func(v int) tfbridge.Output { return s.Const(int64(v)) }
	rows := graph.Cast(s, s.Op1("StridedSlice", map[string]any{"shrink_axis_mask": int64(1)},
		s.Op1("Shape", nil, t), s.Const([]int32{0}), s.Const([]int32{1}), s.Const([]int32{1})), tfbridge.Int64)
	from := func(rank int) tfbridge.Output {
		return s.Op1("FloorDiv", nil, graph.Mul(s, rows, long(rank)), long(r.Size))
	}
	begin, end := from(r.Rank), from(r.Rank+1)
	mine := graph.Cast(s, graph.Sub(s, end, begin), tfbridge.Float)
	factor := s.Op1("RealDiv", nil, graph.Mul(s, mine, s.Const(float32(r.Size))), graph.Cast(s, rows, tfbridge.Float))
	begin = s.Op1("Maximum", nil, long(0), s.Op1("Minimum", nil, begin, graph.Sub(s, rows, long(1))))
	end = s.Op1("Maximum", nil, end, graph.Add(s, begin, long(1)))
	return share{begin: graph.ExpandDims(s, begin, 0), end: graph.ExpandDims(s, end, 0), factor: factor}
}

// of returns the rows of a tensor that belong to the part.
func (p share) of(s *graph.Scope, t tfbridge.Output) tfbridge.Output {
	return s.Op1("StridedSlice", nil, t, p.begin, p.end, s.Const([]int64{1}))
}

// shareBatch replaces the tensors of the batch by the replica's rows of them. A scalar
// stays as it is.
func (b *builder) shareBatch() error {
	r := b.o.Replica
	if r.alone() {
		return nil
	}
	if err := r.check(); err != nil {
		return err
	}
	o := *b.o
	b.o, o.Feeds, o.More = &o, maps.Clone(o.Feeds), slices.Clone(o.More)
	s := b.s.SubScope("share")
	part := func(t tfbridge.Output) tfbridge.Output {
		if t.Op == nil || t.Shape().NumDimensions() == 0 {
			return t
		}
		if b.part.factor.Op == nil {
			b.part = r.newShare(s, t)
		}
		return b.part.of(s, t)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Feeds)) {
		o.Feeds[name] = part(o.Feeds[name])
	}
	o.Labels, o.Weights = part(o.Labels), part(o.Weights)
	for i := range o.More {
		o.More[i].Labels, o.More[i].Weights = part(o.More[i].Labels), part(o.More[i].Weights)
	}
	if b.part.factor.Op == nil && s.Err() == nil {
		return millrace.Errorf(millrace.ErrModel, "several processes share the rows of a batch, and the signature takes no tensor with rows")
	}
	return s.Err()
}

// reduce replaces the derivatives, the loss and the values of changes by their means over
// the processes.
func (b *builder) reduce() error {
	if b.o.Replica.alone() {
		return nil
	}
	s := b.s.SubScope("all_reduce")
	var values []*tfbridge.Output
	var rows []*gradients.Gradient
	for i := range b.gradients {
		if g := &b.gradients[i]; g.Indices.Op != nil {
			rows = append(rows, g)
		} else {
			values = append(values, &g.Value)
		}
	}
	b.gatherTimes(s, values, rows)
	b.gatherRows(s, rows)
	values = append(values, &b.step.Loss)
	for i := range b.step.Losses {
		if len(b.step.Losses) > 1 {
			values = append(values, &b.step.Losses[i])
		}
	}
	for i := range b.opened.Changes {
		if v := &b.opened.Changes[i].Value; floating(v.DataType()) {
			values = append(values, v)
		}
	}
	byType := map[tfbridge.DataType][]*tfbridge.Output{}
	for _, v := range values {
		byType[v.DataType()] = append(byType[v.DataType()], v)
	}
	for key, dt := range slices.Sorted(maps.Keys(byType)) {
		b.reduceAll(s, int64(key+1), byType[dt])
	}
	return s.Err()
}

// gatherTimes computes how long each process took from the start of the run to its
// derivatives, which are values and rows.
func (b *builder) gatherTimes(s *graph.Scope, values []*tfbridge.Output, rows []*gradients.Gradient) {
	var ready []*tfbridge.Operation
	for _, v := range values {
		ready = append(ready, v.Op)
	}
	for _, g := range rows {
		ready = append(ready, g.Value.Op)
	}
	r := b.o.Replica
	began := steps.Now(s)
	computed := steps.Now(s.WithControlDependencies(append(ready, began.Op)...)) // after began, however short the step
	seconds := graph.Mul(s, graph.Cast(s, graph.Sub(s, computed, began), tfbridge.Float), s.Const(float32(1e-9)))
	own := s.Op1("OneHot", nil, s.Const(int32(r.Rank)), s.Const(int32(r.Size)), seconds, s.Const(float32(0)))
	b.step.WorkerSeconds = r.reduce(s, timesKey, "Add", "Id", own)
}

// reduceAll replaces values of one dtype by their means over the processes.
func (b *builder) reduceAll(s *graph.Scope, key int64, values []*tfbridge.Output) {
	factor := graph.Cast(s, b.part.factor, values[0].DataType())
	var flat, sizes tfbridge.OutputList
	for _, v := range values {
		vector := graph.Reshape(s, *v, s.Const([]int32{-1}))
		flat = append(flat, vector)
		sizes = append(sizes, s.Op1("Size", map[string]any{"out_type": tfbridge.Int64}, vector))
	}
	all := graph.Mul(s, s.Op1("ConcatV2", nil, flat, s.Const(int32(0))), factor)
	all = b.o.Replica.reduce(s, key, "Add", "Div", all)
	parts := s.Op("SplitV", map[string]any{"num_split": int64(len(values))}, all, s.Op1("Pack", nil, sizes), s.Const(int32(0)))
	for i, v := range values {
		*v = graph.Reshape(s, parts[i], s.Op1("Shape", nil, *v))
	}
}

// gatherRows replaces derivatives that are rows by the rows of all processes.
func (b *builder) gatherRows(s *graph.Scope, all []*gradients.Gradient) {
	if len(all) == 0 {
		return
	}
	var counts tfbridge.OutputList
	for _, g := range all {
		counts = append(counts, s.Op1("Size", nil, g.Indices))
	}
	most := b.o.Replica.reduce(s, rowsKey, "Max", "Id", s.Op1("Pack", nil, counts))
	var powers []int32
	for n := range 31 {
		powers = append(powers, 1<<n)
	}
	sizes := s.Const(powers)
	// For each derivative, which of the powers is the first that is large enough.
	which := s.Op1("LowerBound", nil, graph.ExpandDims(s, sizes, 0), graph.ExpandDims(s, most, 0))
	which = graph.Reshape(s, which, s.Const([]int32{-1}))
	for i, g := range all {
		power := s.Op1("GatherV2", nil, which, s.Const(int32(i)), s.Const(int32(0)))
		missing := graph.Sub(s, s.Op1("GatherV2", nil, sizes, power, s.Const(int32(0))), counts[i])
		key := func(table int) tfbridge.Output { return graph.Add(s, power, s.Const(int32(rowsKey+1+64*table))) }
		part := graph.Mul(s, g.Value, graph.Cast(s, graph.Mul(s, b.part.factor, s.Const(1/float32(b.o.Replica.Size))), g.Value.DataType()))
		indices := b.o.Replica.gather(s, key(2*i), padded(s, g.Indices, missing, 1, -1))
		values := b.o.Replica.gather(s, key(2*i+1), padded(s, part, missing, g.Value.Shape().NumDimensions(), 0))
		real := s.Op1("GreaterEqual", nil, indices, graph.Cast(s, s.Const(int32(0)), indices.DataType()))
		at := graph.Reshape(s, s.Op1("Where", nil, real), s.Const([]int32{-1}))
		g.Indices = s.Op1("GatherV2", nil, indices, at, s.Const(int32(0)))
		g.Value = s.Op1("GatherV2", nil, values, at, s.Const(int32(0)))
	}
}

// padded adds rows with one value to a tensor.
func padded(s *graph.Scope, t, rows tfbridge.Output, dims int, value int32) tfbridge.Output {
	zero := s.Const(int32(0))
	paddings := tfbridge.OutputList{s.Op1("Pack", nil, tfbridge.OutputList{zero, rows})}
	for range dims - 1 {
		paddings = append(paddings, s.Op1("Pack", nil, tfbridge.OutputList{zero, zero}))
	}
	return s.Op1("PadV2", nil, t, s.Op1("Pack", nil, paddings), graph.Cast(s, s.Const(value), t.DataType()))
}

// reduce combines a tensor with those of the other processes.
func (r *Replica) reduce(s *graph.Scope, key int64, merge, final string, t tfbridge.Output) tfbridge.Output {
	return s.Op1("CollectiveReduce", map[string]any{
		"group_size": int64(r.Size), "group_key": int64(1), "instance_key": key, "merge_op": merge, "final_op": final,
		"subdiv_offsets": []int64{0}, "communication_hint": "ring", "timeout_seconds": float32(math.Ceil(r.Timeout.Seconds())),
	}, t)
}

// gather returns the rows of all processes, by rank. All have the same number of rows.
func (r *Replica) gather(s *graph.Scope, key, t tfbridge.Output) tfbridge.Output {
	return s.Op1("CollectiveGatherV2", map[string]any{
		"communication_hint": "ring", "timeout_seconds": float32(math.Ceil(r.Timeout.Seconds())),
	}, t, s.Const(int32(r.Size)), s.Const(int32(1)), key, tfbridge.OutputList{})
}

// Keys of the collective operations. Smaller ones are those of the dtypes.
const (
	timesKey = 999
	rowsKey  = 1000 // and more: of the rows
)

// floating reports whether values of a dtype have a mean. Counters and the states of random
// generators have none, and are equal in all processes anyway.
func floating(dt tfbridge.DataType) bool {
	return dt == tfbridge.Float || dt == tfbridge.Double || dt == tfbridge.Half || dt == tfbridge.Bfloat16
}

// replicaSeed returns the seed of a replica's random operations: processes that drop the
// same units would train on fewer of them.
func (o *Options) replicaSeed() int64 {
	switch {
	case o.Servers != nil:
		return o.Seed + int64(o.Servers.Rank)<<32
	case o.Replica.alone():
		return o.Seed
	}
	return o.Seed + int64(o.Replica.Rank)<<32
}
