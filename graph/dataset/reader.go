package dataset

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"reflect"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/elements"
	"millrace/tfbridge"
)

// # A source in Go that saves its position
//
// The question. A file format in Go has a position: a file, an offset, perhaps a
// dictionary that it read on the way. An iterator is saved between any two
// elements, in TensorFlow, and restored in another process, where no Go value of
// the first exists. A call of Go for each element would make saving simple, and
// cost tens of microseconds an element.
//
// The answer. A scan calls Go for a chunk of elements, and Unbatch splits it; Unbatch
// saves the elements that it has left. The scan's state is
//
//	token   finds the open reader in this process; a restored one finds nothing
//	state   bytes of Reader.State, behind the elements of some chunk
//	skip    how many elements were delivered since
//
//	... e1 e2 e3 | e4 e5 (e6) ...
//	             ^state        skip = 2
//
// After a full chunk, state is asked for and skip is 0. A chunk ends early when an
// element has another shape, since a tensor has one, and when reading fails. Then
// the reader is already behind the element that waits (e6), and its state would
// leave that out. So the chunk keeps the state before it and counts what it
// delivered. The next chunk begins with the element that waited; the reader is now
// where the dataset is, and is asked again. So a restored iterator skips less than
// a chunk.

// Reader reads the elements of a source for [FromReader]. Only one goroutine at a
// time uses it.
type Reader[T any] interface {
	// Next returns the next element, and io.EOF at the end. FromReader copies the
	// element before it calls Next again.
	Next() (T, error)
	// State returns what the source's open function needs to continue after the
	// elements that Next has returned. It is not called after Next has failed.
	State() ([]byte, error)
	// Close releases what the reader holds. It must not block.
	Close() error
}

// ReaderOptions are the options of [FromReader].
type ReaderOptions struct {
	Name   string                // name in errors; default "reader"
	Spec   graph.Spec            // as in [SeqOptions]
	Fields map[string]graph.Spec // as in [SeqOptions]
	// Chunk is the number of elements that one call of Go reads; default 256, or fewer
	// if they exceed 1 MiB.
	Chunk int
	// Workers, if not 0, is the number of readers of this dataset that may read at a
	// time. By default the reader of each iterator may, one call at a time.
	Workers int
}

// The defaults of ReaderOptions.
const (
	defaultReaderChunk = 256
	readerChunkBytes   = 1 << 20
)

// FromReader returns a dataset of the elements that a reader in Go reads: a file
// format, or any other source with a position that can be saved. Elements are as for
// [FromSeq].
//
// Every iterator calls open when it begins, with a nil state, and when it continues
// after it was restored, with the reader's saved state. It closes the reader at the
// end, and when the iterator or its session is closed. The context is cancelled when
// the session is closed. Nothing is read before it is requested: [Dataset.Prefetch]
// reads ahead.
//
// After an error the elements before it are delivered, then the error, once, and then
// the end of the data. The error keeps its class and location; without a class it is of
// class millrace.ErrIO. A panic is of class millrace.ErrInternal, an element of the
// wrong data type or shape of class millrace.ErrSchema.
//
// It wraps ScanDataset and UnbatchDataset.
func FromReader[T any](s *graph.Scope, open func(ctx context.Context, state []byte) (Reader[T], error), o *ReaderOptions) *Dataset {
	src := &readerSource{}
	if o != nil {
		src.o = *o
	}
	src.o.Name, src.o.Chunk = cmp.Or(src.o.Name, "reader"), cmp.Or(src.o.Chunk, defaultReaderChunk)
	var err error
	src.layout, err = elements.Of(reflect.TypeFor[T](), elements.Specs{Spec: src.o.Spec, Fields: src.o.Fields, Composite: isComposite})
	if err == nil && (open == nil || src.o.Chunk < 0 || src.o.Workers < 0) {
		err = millrace.Errorf(millrace.ErrModel, "%s: chunks of %d, %d workers: none may be negative, and open must not be nil", src.o.Name, src.o.Chunk, src.o.Workers)
	}
	if err != nil {
		s.UpdateErr("FromReader", err)
		return &Dataset{scope: s}
	}
	src.open = func(ctx context.Context, state []byte) (valueReader, error) {
		r, err := open(ctx, state)
		if err == nil && r == nil {
			err = millrace.Errorf(millrace.ErrModel, "the open function returned no reader")
		}
		return &reflectedReader[T]{Reader: r}, err
	}
	return src.dataset(s)
}

// valueReader is a Reader without its type parameter.
type valueReader interface {
	NextValue() (reflect.Value, error)
	State() ([]byte, error)
	Close() error
}

// reflectedReader is a Reader whose elements are reflected without an allocation.
type reflectedReader[T any] struct {
	Reader[T]
	box *T
}

// NextValue returns the next element, which the next call overwrites.
func (r *reflectedReader[T]) NextValue() (reflect.Value, error) {
	if r.box == nil {
		r.box = new(T)
	}
	var err error
	*r.box, err = r.Next()
	return reflect.ValueOf(r.box).Elem(), err
}

// readerSource describes a dataset of FromReader.
type readerSource struct {
	o      ReaderOptions
	layout *elements.Layout
	open   func(ctx context.Context, state []byte) (valueReader, error)
}

// dataset adds the dataset.
func (src *readerSource) dataset(s *graph.Scope) *Dataset {
	number := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	states := []graph.Spec{number, {DType: tfbridge.String, Shape: tfbridge.ScalarShape()}, number}
	results := states
	for _, p := range src.layout.Parts {
		results = append(results, graph.Spec{DType: p.Spec.DType, Shape: prepended(-1, p.Spec.Shape)})
	}
	call := tfbridge.Blocking(src.next)
	if src.o.Workers > 0 {
		call = tfbridge.Limited(src.o.Workers, src.next)
	}
	f := s.Func(src.o.Name, append(states, number), nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return graph.GoCall(s, graph.GoCallSpec{Name: src.o.Name, Out: results, Fn: call, Pure: true}, args[:3]...)
	})
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	initial := tfbridge.OutputList{s.Const(int64(0)), s.Const(""), s.Const(int64(0))}
	chunks := Range(s, 0, math.MaxInt64, 1).then("ScanDataset", f.Out[3:], attrs{"f": f.Attr(), "preserve_cardinality": false}, initial, f.Inputs())
	t := elements.Fold(src.layout.Root, func(n *elements.Node) *Structure { return DenseSpec(n.Spec.DType, n.Spec.Shape) }, FieldsSpec)
	return chunks.splitChunks(src.o.Name, t, true)
}

// next answers a call for the next chunk. The arguments are the state of the scan.
func (src *readerSource) next(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	token := args[0]
	r, ok := tfbridge.FindToken(token).(*openReader)
	if !ok || r.src != src {
		var err error
		if r, token, err = src.restore(ctx, args[1], args[2]); err != nil {
			return nil, src.failed(err)
		}
	}
	results, err := r.chunk(token)
	if err != nil && token != args[0] {
		token.Close()
	}
	return results, err
}

// failed returns the error of a source with its name.
func (src *readerSource) failed(err error) error {
	if errors.Is(err, io.EOF) { // an end in the middle of the data
		err = io.ErrUnexpectedEOF
	}
	e := *tfbridge.ClassifyError(err)
	if own, ok := err.(*millrace.Error); ok {
		e = *own
	}
	if e.File == "" {
		e.Loader = cmp.Or(e.Loader, src.o.Name)
	}
	return &e
}

// restore opens a reader at a state, and returns the token that closes it.
func (src *readerSource) restore(ctx context.Context, state, skip *tfbridge.Tensor) (*openReader, *tfbridge.Tensor, error) {
	texts, err := state.Strings()
	if err != nil {
		return nil, nil, err
	}
	counts, err := tfbridge.View[int64](skip)
	if err != nil {
		return nil, nil, err
	}
	var at []byte
	if texts[0] != "" || counts[0] > 0 {
		at = []byte(texts[0])
	}
	reader, err := src.open(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	r := &openReader{src: src, reader: reader, state: texts[0], columns: src.layout.Columns(elements.ColumnsOptions{Empty: true})}
	token, err := r.skip(ctx, counts[0])
	if err != nil {
		reader.Close()
		return nil, nil, err
	}
	return r, token, nil
}
