package dataset

import (
	"context"
	"iter"
	"math"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// SeqOptions are the options of [FromSeq], [FromFunc], [FromChan] and
// [FromFeed].
type SeqOptions struct {
	// Name is the source's name in errors; default "seq".
	Name string
	// Spec is the type and shape of an element that is one tensor. It must be
	// there for *tfbridge.Tensor, and makes the shape known for slices.
	Spec graph.Spec
	// Fields are the types and shapes of named parts: they must be there for
	// maps, and for struct fields of type *tfbridge.Tensor or any.
	Fields map[string]graph.Spec
	// Buffer is how many elements the sequence may be ahead of those that the
	// dataset has given; default 1024. Prefetch and the like add theirs.
	Buffer int
	// MaxBytes bounds the memory of those elements; default 256 MiB. One of
	// more than half of it is an error of class millrace.ErrLimit.
	MaxBytes int64
	// Batch, if not 0, makes the elements batches of so many, which costs less
	// than Batch afterwards. The last may be smaller unless Drop is set; all
	// elements must have one shape. Then two batches at most are ahead.
	Batch int
	Drop  bool
	// Empty allows values without elements, such as an empty slice.
	Empty bool
	// Replayable says that the sequence gives the same elements whenever it is
	// ranged over. Iterators can then be saved; restoring skips the elements
	// that were given before, or lets [FromFunc] begin behind them.
	Replayable bool
}

// The defaults of SeqOptions.
const (
	defaultSeqBuffer = 1024
	defaultSeqBytes  = 256 << 20
)

// FromSeq returns the elements of a Go sequence: numbers, strings, bools,
// slices and arrays of these, *tfbridge.Tensor, or structs and maps of them
// with a part for every exported field or entry (the tag `tf:"name"` gives
// another name, `tf:"-"` leaves a field out). Elements are copied. Structs and
// maps within these, [Sparse] and [Ragged] are refused: give their tensors as
// parts, and join them with [MapOf].
//
// Every iterator ranges over the sequence anew, in a goroutine of its own,
// which runs ahead as far as SeqOptions allow. The loop is left, as by a
// break, when the iterator or its session is closed; see [FromFunc] for one
// that waits for something and must be woken.
//
// An error of the sequence ends it: those who read the dataset get it once,
// with the source's name and the number of the element, and then the end. It
// keeps its class; one without is of class millrace.ErrIO, a panic of
// millrace.ErrInternal, an element of the wrong type or shape of
// millrace.ErrSchema.
//
// It wraps ScanDataset and UnbatchDataset.
func FromSeq[T any](s *graph.Scope, seq iter.Seq2[T, error], o *SeqOptions) *Dataset {
	return FromFunc(s, func(_ context.Context, from int64) iter.Seq2[T, error] {
		if from == 0 || seq == nil {
			return seq
		}
		return func(yield func(T, error) bool) {
			for v, err := range seq {
				if from > 0 && err == nil {
					from--
					continue
				}
				if !yield(v, err) {
					return
				}
			}
		}
	}, o)
}

// FromFunc is FromSeq for sequences that are made when an iterator begins. The
// context ends when the iterator or its session is closed, and the sequence
// should end then. The end of the context of one run alone does not end it: the
// sequence goes on for the next run, though an element on its way may be lost.
// [Iterate] and [Dataset.All] close their session when their context ends. If
// the sequence does not end, the session closes all the same, and its
// Close returns an error that names the source. With SeqOptions.Replayable the
// sequence begins at element from; otherwise from is 0.
func FromFunc[T any](s *graph.Scope, seq func(ctx context.Context, from int64) iter.Seq2[T, error], o *SeqOptions) *Dataset {
	if o == nil {
		o = &SeqOptions{}
	}
	src, err := newSource[T](*o)
	switch {
	case err != nil:
	case seq == nil:
		err = millrace.Errorf(millrace.ErrModel, "the sequence is nil")
	default:
		src.each = func(ctx context.Context, from int64, p *producer) error { return feed(p, seq(ctx, from)) }
	}
	if err != nil {
		s.UpdateErr("sequence", err)
		return &Dataset{scope: s}
	}
	return src.dataset(s)
}

// FromChan returns what is received from a channel, until it is closed.
// Iterators share the channel: each element goes to one of them, and what an
// iterator had taken and not given is lost when it is closed.
func FromChan[T any](s *graph.Scope, ch <-chan T, o *SeqOptions) *Dataset {
	if o != nil && o.Replayable {
		s.UpdateErr("channel", millrace.Errorf(millrace.ErrModel, "a channel cannot be replayed"))
	}
	return FromFunc(s, func(ctx context.Context, _ int64) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for {
				select {
				case v, ok := <-ch:
					if !ok || !yield(v, nil) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}
	}, o)
}

// dataset adds the dataset. A scan over the numbers calls Go for as many
// elements as there are at a time, and unbatching takes them apart again: a
// call costs as much as hundreds of elements. The state of the scan is a token
// by which the call finds its sequence, and how many elements were given.
func (src *source) dataset(s *graph.Scope) *Dataset {
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	results := []graph.Spec{scalar, scalar}
	for _, p := range src.specs() {
		results = append(results, graph.Spec{DType: p.DType, Shape: prepended(-1, p.Shape)})
	}
	state := []graph.Spec{scalar, scalar, scalar} // and the number
	f := s.Func(src.name, state, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return graph.GoCall(s, graph.GoCallSpec{Name: src.name, Out: results, Fn: src.next, Pure: src.o.Replayable}, args[:2]...)
	})
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	numbers := Range(s, 0, math.MaxInt64, 1)
	initial := tfbridge.OutputList{s.Const(int64(0)), s.Const(int64(0))}
	chunks := numbers.then("ScanDataset", f.Out[2:], attrs{"f": f.Attr(), "preserve_cardinality": false}, initial, f.Inputs())
	if src.mayBeEmpty() {
		// UnbatchDataset ends the process for an element of no bytes.
		return chunks.FlatMap(src.name+"_rows", func(s *graph.Scope, args []tfbridge.Output) *Dataset { return FromSlices(s, args...) }).as(src.structure())
	}
	return chunks.then("UnbatchDataset", src.specs(), nil).as(src.structure())
}

// next is called for the next elements: with a token, or anything for a
// sequence that is to begin, and how many elements were given.
func (src *source) next(c *tfbridge.Call) {
	given, err := tfbridge.View[int64](c.Args()[1])
	if err != nil {
		c.Fail(err)
		return
	}
	if p, ok := tfbridge.FindToken(c.Args()[0]).(*producer); ok && p.src == src {
		p.take(c)
		return
	}
	if given[0] > 0 && !src.o.Replayable {
		c.Fail(src.errorAt(given[0], millrace.ErrCheckpoint, "a sequence that is not replayable cannot go on here"))
		return
	}
	p := newProducer(src, given[0])
	token, err := tfbridge.NewToken(p, p.cancel)
	if err != nil {
		c.Fail(err)
		return
	}
	// Nothing yet: if the first elements cannot be given the scan must know
	// that the sequence has begun, or it would begin again.
	results, err := p.results(token, 0)
	if err == nil {
		c.Go(src.name, p.run)
	}
	answer(c, results, err)
}
