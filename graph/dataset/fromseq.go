package dataset

import (
	"cmp"
	"context"
	"iter"
	"math"
	"reflect"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/elements"
	"millrace/tfbridge"
)

// SeqOptions are the options of [FromSeq], [FromFunc], [FromChan] and
// [FromFeed].
type SeqOptions struct {
	// Name is the source's name in errors; default "seq".
	Name string
	// Spec is the data type and shape of an element that is one tensor. It is
	// required for *tfbridge.Tensor, and makes the shape of slices known.
	Spec graph.Spec
	// Fields are the data types and shapes of named parts. They are required for maps, and
	// for struct fields of type *tfbridge.Tensor or any. Part b of part a is "a.b". The
	// shape of a Sparse defines its rank, which is otherwise unknown. In the shape of a
	// Ragged, the last dimension of -1 is the last ragged one; default [-1, -1], rows of
	// numbers or strings.
	Fields map[string]graph.Spec
	// Buffer is the number of elements that the sequence may be ahead of the dataset;
	// default 1024. Prefetch and similar stages buffer further elements.
	Buffer int
	// MaxBytes limits the memory of those elements; default 256 MiB. An element
	// larger than half of it is an error of class millrace.ErrLimit.
	MaxBytes int64
	// Batch, if not 0, batches the elements in this size. It costs less than Dataset.Batch.
	// The last batch may be smaller unless Drop is set. All elements must have one shape,
	// and no sparse or ragged parts. The sequence is then at most two batches ahead.
	Batch int
	Drop  bool
	// Empty allows values without elements, such as an empty slice.
	Empty bool
	// Replayable declares that the sequence yields the same elements each time it is ranged
	// over. Iterators can then be saved. A restored iterator skips the elements that were
	// delivered, or [FromFunc] begins after them.
	Replayable bool
}

// The defaults of SeqOptions.
const (
	defaultSeqBuffer = 1024
	defaultSeqBytes  = 256 << 20
)

// FromSeq returns a dataset of the elements of a Go sequence. An element is a number,
// string or bool, a slice or array of these, a *tfbridge.Tensor, or a struct or map of
// them, which may be nested, or a [Sparse] or [Ragged]. Every exported field or entry is a
// part; the tag `tf:"name"` gives a field another name, and `tf:"-"` omits it. Elements are
// copied.
//
// Every iterator ranges over the sequence again, in its own goroutine, which prefetches as
// far as SeqOptions allow. The loop ends, as by a break, when the iterator or its session
// is closed. For a sequence that blocks, use [FromFunc], whose context is cancelled.
//
// An error of the sequence ends it. The reader of the dataset gets the error once, with the
// source's name and the number of the element, and then the end of the data. The error
// keeps its class; without one it is of class millrace.ErrIO. A panic is of class
// millrace.ErrInternal, and an element of the wrong data type or shape of class
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

// FromFunc is FromSeq for a sequence that is made when an iterator begins. Its context
// is cancelled when the iterator or its session is closed; the sequence should then
// end. If it does not, the session still closes, and its Close returns an error that
// names the source. Cancelling the context of a single run does not end the sequence:
// it continues for the next run, but an element in flight may be lost. [Iterate] and
// [Dataset.All] close their session when their context is done. With
// SeqOptions.Replayable the sequence begins at element from; otherwise from is 0.
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

// FromChan returns a dataset of the elements received from a channel, until the channel is
// closed. Iterators share the channel: each element goes to one of them. Elements that an
// iterator has received and not delivered are lost when it is closed.
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

// dataset adds the dataset. A scan over an endless counter calls Go, and each call returns
// all elements that are ready; Unbatch splits them again. A call costs as much as hundreds
// of elements. The state of the scan is a token, by which a call finds its sequence, and
// the number of elements delivered.
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
	rows := chunks.splitChunks(src.name, structureOf(src.specs()), src.mayBeEmpty())
	return rows.joinParts(src.structure())
}

// splitChunks returns the rows of chunks as elements of a structure.
func (d *Dataset) splitChunks(name string, t *Structure, mayBeEmpty bool) *Dataset {
	if mayBeEmpty {
		// UnbatchDataset ends the process for an element of no bytes.
		return d.FlatMap(name+"_rows", func(s *graph.Scope, args []tfbridge.Output) *Dataset { return FromSlices(s, args...) }).as(t)
	}
	return d.then("UnbatchDataset", t.Specs(), nil).as(t)
}

// next answers a call for the next elements. The call has the number of elements
// delivered and a token; any other value begins a sequence.
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
	// There are no elements yet. If the first elements cannot be returned, the scan
	// must know that the sequence has begun, or it would begin again.
	results, err := p.results(token, 0)
	if err == nil {
		c.Go(src.name, p.run)
	}
	answer(c, results, err)
}

// source describes a live dataset: its sequence and the structure of its elements.
type source struct {
	name   string
	o      SeqOptions
	layout *elements.Layout
	chunk  int   // elements returned by one call at most
	bytes  int64 // their bytes at most
	each   func(ctx context.Context, from int64, p *producer) error
}

// newSource returns the source of elements of type T, without its sequence.
func newSource[T any](o SeqOptions) (*source, error) {
	o.Name = cmp.Or(o.Name, "seq")
	o.Buffer = cmp.Or(o.Buffer, defaultSeqBuffer)
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultSeqBytes)
	if o.Buffer < 0 || o.MaxBytes < 0 || o.Batch < 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "%s: a buffer of %d, batches of %d, %d bytes: none may be negative", o.Name, o.Buffer, o.Batch, o.MaxBytes)
	}
	src := &source{name: o.Name, o: o, bytes: o.MaxBytes / 2, chunk: (o.Buffer + 1) / 2}
	if o.Batch > 0 {
		src.chunk = o.Batch
	}
	var err error
	specs := elements.Specs{Spec: o.Spec, Fields: o.Fields, Composite: isComposite, Components: compositeParts}
	if o.Batch > 0 {
		specs.Components = nil
	}
	src.layout, err = elements.Of(reflect.TypeFor[T](), specs)
	return src, err
}

// specs returns the components of the dataset's elements.
func (src *source) specs() []graph.Spec {
	specs := make([]graph.Spec, len(src.layout.Parts))
	for i, p := range src.layout.Parts {
		specs[i] = src.batched(p.Spec)
	}
	return specs
}

// batched returns the type and shape that a tensor of an element has in the
// dataset, whose elements are batches if the options say so.
func (src *source) batched(p graph.Spec) graph.Spec {
	if src.o.Batch == 0 {
		return p
	}
	n := int64(-1)
	if src.o.Drop {
		n = int64(src.o.Batch)
	}
	p.Shape = prepended(n, p.Shape)
	return p
}

// structure returns the structure of the dataset's elements.
func (src *source) structure() *Structure {
	return elements.Fold(src.layout.Root, func(n *elements.Node) *Structure {
		if n.Type != nil {
			return compositeSpec(n.Type, n.Spec)
		}
		p := src.batched(n.Spec)
		return DenseSpec(p.DType, p.Shape)
	}, FieldsSpec)
}

// mayBeEmpty reports whether elements may have parts of no bytes.
func (src *source) mayBeEmpty() bool { return src.o.Empty || src.layout.MayBeEmpty() }

// errorAt is a failure at an element.
func (src *source) errorAt(n int64, class millrace.Class, format string, args ...any) *millrace.Error {
	e := millrace.Errorf(class, format, args...)
	e.Loader, e.Record = src.name, n
	return e
}
