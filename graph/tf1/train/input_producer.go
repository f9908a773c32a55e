package train

import (
	"cmp"
	"math"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// ProducerOptions are the options of all producers. Nil and the zero value mean the
// defaults.
type ProducerOptions struct {
	NumEpochs   int64               // number of times that each row is produced; 0: unlimited
	InOrder     bool                // keep the order of the rows; default: shuffle them differently in each epoch
	Seed, Seed2 int64               // seeds of the shuffle; both 0: another order in every session; Python's seed=n is [queue.DefaultSeed], n
	Capacity    int                 // capacity of the queue; 0: 32
	SharedName  string              // shared name of the queue: see [queue.Options]
	CancelOp    *tfbridge.Operation // cancel operation of the runner: see [QueueRunnerOptions]
}

// InputProducerOptions are the options of [InputProducer]. Nil and the zero value
// mean the defaults.
type InputProducerOptions struct {
	ProducerOptions
	ElementShape tfbridge.Shape // shape of a row; completes the input's own shape
	SummaryName  string         // name of the summary of the queue's fill level; "": no summary
}

// defaultCapacity is the capacity of the queues of this package.
const defaultCapacity = 32

// capacity returns the capacity of the queue.
func (o *ProducerOptions) capacity() int { return cmp.Or(o.Capacity, defaultCapacity) }

// InputProducer returns a queue of the rows of a tensor, and adds the [QueueRunner] that
// fills it. A run of the runner enqueues all rows of an epoch at once. A variable counts
// the epochs: see [LimitEpochs].
func InputProducer(s *graph.Scope, input tfbridge.Output, o *InputProducerOptions) *queue.Queue {
	return produce(s.SubScope("input_producer"), input, o)
}

// produce adds the operations of a producer to a sub-scope.
func produce(s *graph.Scope, input tfbridge.Output, o *InputProducerOptions) *queue.Queue {
	if o == nil {
		o = &InputProducerOptions{}
	}
	row, err := rowSpec(input, o.ElementShape)
	if err == nil && o.NumEpochs < 0 {
		err = millrace.Errorf(millrace.ErrModel, "the number of epochs is %d, must not be negative", o.NumEpochs)
	}
	s.UpdateErr("input producer", err)
	if !o.InOrder {
		input = s.Op1("RandomShuffle", map[string]any{"seed": o.Seed, "seed2": o.Seed2}, input)
	}
	if o.NumEpochs > 0 {
		input = LimitEpochs(s, input, o.NumEpochs)
	}
	q := queue.NewFIFO(s, o.capacity(), []graph.Spec{row}, &queue.Options{SharedName: o.SharedName})
	if o.SummaryName != "" {
		addFullness(s, q, fullness{name: o.SummaryName, capacity: o.capacity()})
	}
	produced := addRunner(s, q, []*tfbridge.Operation{q.EnqueueMany(s, input)}, o.CancelOp)
	if rows := graph.SpecOf(input).Shape; rows.NumDimensions() > 0 && rows.Dims()[0] >= 0 {
		s.AddToCollection(producers, producer{queue: produced, rows: rows.Dims()[0]})
	}
	return produced
}

// rowSpec returns the spec of a row of a tensor.
func rowSpec(input tfbridge.Output, given tfbridge.Shape) (graph.Spec, error) {
	row := graph.SpecOf(input)
	switch row.Shape.NumDimensions() {
	case -1:
		row.Shape = given
	case 0:
		return row, millrace.Errorf(millrace.ErrModel, "the input is a scalar; it must have rows")
	default:
		inferred := tfbridge.MakeShape(row.Shape.Dims()[1:]...)
		if !inferred.IsCompatibleWith(given) {
			return row, millrace.Errorf(millrace.ErrModel, "the rows of the input have shape %v, not ElementShape %v", inferred, given)
		}
		row.Shape = moreSpecific(inferred, given)
	}
	if !row.Shape.IsFullySpecified() {
		return row, millrace.Errorf(millrace.ErrModel, "the rows of the input have shape %v; set ElementShape", row.Shape)
	}
	return row, nil
}

// moreSpecific returns the shape that two compatible shapes define together.
func moreSpecific(a, b tfbridge.Shape) tfbridge.Shape {
	if a.NumDimensions() < 0 {
		return b
	}
	if b.NumDimensions() < 0 {
		return a
	}
	dims := a.Dims()
	for i, d := range b.Dims() {
		dims[i] = max(dims[i], d)
	}
	return tfbridge.MakeShape(dims...)
}

// StringInputProducer returns a queue of strings, such as the names of files, and adds the
// [QueueRunner] that fills it. The input is a vector of strings, which must not be empty. A
// summary shows the queue's fill level.
func StringInputProducer(s *graph.Scope, input tfbridge.Output, o *ProducerOptions) *queue.Queue {
	if o == nil {
		o = &ProducerOptions{}
	}
	s = s.SubScope("input_producer")
	const empty = "there are no strings to produce: no file matches, or the list is empty"
	spec := graph.SpecOf(input)
	if spec.DType != tfbridge.String {
		s.UpdateErr("StringInputProducer", millrace.Errorf(millrace.ErrModel, "the input is %v, must be strings", spec))
	}
	if spec.Shape.NumDimensions() > 0 && spec.Shape.Dims()[0] == 0 {
		s.UpdateErr("StringInputProducer", millrace.Errorf(millrace.ErrModel, empty))
	}
	some := graph.Greater(s, graph.Size(s, input), s.Const(int64(0)))
	check := graph.Assert(s, some, []tfbridge.Output{s.Const(empty)}, nil)
	input = graph.Identity(s.WithControlDependencies(check), input)
	return produce(s, input, &InputProducerOptions{
		ProducerOptions: *o, ElementShape: tfbridge.ScalarShape(), SummaryName: fullName(o.capacity()),
	})
}

// RangeInputProducer returns a queue of the numbers from 0 to limit-1, and adds the
// [QueueRunner] that fills it. The limit is a scalar int32, and so are the numbers. A
// summary shows the queue's fill level.
func RangeInputProducer(s *graph.Scope, limit tfbridge.Output, o *ProducerOptions) *queue.Queue {
	if o == nil {
		o = &ProducerOptions{}
	}
	s = s.SubScope("input_producer")
	numbers := s.Op1("Range", nil, s.Const(int32(0)), limit, s.Const(int32(1)))
	return produce(s, numbers, &InputProducerOptions{
		ProducerOptions: *o, ElementShape: tfbridge.ScalarShape(), SummaryName: fullName(o.capacity()),
	})
}

// SliceInputProducer returns one row of each tensor, the same row of all. All tensors must
// have as many rows as the first. The rows of an epoch come shuffled unless InOrder is set,
// so batch them by a plain [Batch]. It adds the [QueueRunner] of a [RangeInputProducer].
func SliceInputProducer(s *graph.Scope, tensors []tfbridge.Output, o *ProducerOptions) []tfbridge.Output {
	s = s.SubScope("slice_input_producer")
	rows, err := commonRows(tensors)
	if err != nil {
		s.UpdateErr("SliceInputProducer", err)
		return unbuilt.Outputs(len(tensors))
	}
	count := s.Const(int32(rows))
	if rows < 0 {
		count = graph.Subscript(s, s.Op1("Shape", nil, tensors[0]), graph.At(0))
	}
	q := RangeInputProducer(s, count, o)
	index := q.Dequeue(s)[0]
	slices := make([]tfbridge.Output, len(tensors))
	for i, t := range tensors {
		slices[i] = graph.GatherV2(s, t, index, 0)
	}
	return slices
}

// commonRows returns the number of rows of the tensors, or -1 if it is unknown.
func commonRows(tensors []tfbridge.Output) (int64, error) {
	rows := int64(-1)
	for i, t := range tensors {
		shape := graph.SpecOf(t).Shape
		if shape.NumDimensions() == 0 {
			return 0, millrace.Errorf(millrace.ErrModel, "tensor %d is a scalar; it must have rows", i)
		}
		if shape.NumDimensions() < 0 || shape.Dims()[0] < 0 {
			continue
		}
		if n := shape.Dims()[0]; rows >= 0 && n != rows {
			return 0, millrace.Errorf(millrace.ErrModel, "tensor %d has %d rows, another one %d", i, n, rows)
		} else {
			rows = n
		}
	}
	switch {
	case len(tensors) == 0:
		return 0, millrace.Errorf(millrace.ErrModel, "there are no tensors")
	case rows > math.MaxInt32:
		return 0, millrace.Errorf(millrace.ErrModel, "the tensors have %d rows, at most %d can be counted", rows, math.MaxInt32)
	}
	return rows, nil
}
