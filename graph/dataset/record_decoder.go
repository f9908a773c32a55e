package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/elements"
	"millrace/tfbridge"
)

// RecordDecoder is a record format in Go: a function that makes a Go value of the
// bytes of a record. As an operation it turns records, a string tensor, into a
// tensor for each part of the value. Graphs may share it.
type RecordDecoder struct {
	o      RecordDecoderOptions
	layout *elements.Layout
	call   func(*tfbridge.Call)
}

// RecordDecoderOptions are the options of [NewRecordDecoder].
type RecordDecoderOptions struct {
	// Name is the decoder's name in errors and in the graph; default "decode".
	Name string
	// Spec and Fields are the data types and shapes of the values, as in
	// [SeqOptions].
	Spec   graph.Spec
	Fields map[string]graph.Spec
	// Workers is how many calls run at a time, in all graphs and sessions
	// together; default one for each processor. Further calls wait without a
	// goroutine and without a thread.
	Workers int
	// Stateful declares that equal records may become different values, or that
	// decoding has side effects. Then TensorFlow neither shares, omits nor repeats
	// calls, and the state of an iterator over them cannot be saved.
	Stateful bool
}

// RecordError is the failure of one record. It is in the errors of runs:
// errors.As finds it there.
type RecordError struct {
	Key   string // key of the record; "" without keys
	Index int    // index of the record within the call, in row-major order
	Err   error  // from the decoder's function
}

// Error returns the key or index of the record, and the reason.
func (e *RecordError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("key %s: %v", millrace.Quote(e.Key), e.Err)
	}
	return fmt.Sprintf("record %d of the tensor: %v", e.Index, e.Err)
}

// Unwrap returns the function's error.
func (e *RecordError) Unwrap() error { return e.Err }

// NewRecordDecoder returns a decoder. The function gets the bytes of one record,
// which are valid until it returns, and returns a value as for [FromSeq]: a
// number, string or bool, a slice or array of these, a *tfbridge.Tensor, or a
// struct or map of them. TensorFlow's threads call it: several calls at a time, as
// many as Workers, each with the records of one tensor, one after the other. It may
// block, but should rather compute.
//
// If the function returns an error, the run fails with it and with the record's key.
// An error without a class is of class millrace.ErrCorrupt. A panic is an error of
// class millrace.ErrInternal with its stack. Values of another type or shape than
// the options say, and values of several shapes for one tensor, are errors of class
// millrace.ErrSchema.
//
// A type that cannot be in tensors is an error of class millrace.ErrModel.
func NewRecordDecoder[T any](fn func(record []byte) (T, error), o *RecordDecoderOptions) (*RecordDecoder, error) {
	d := &RecordDecoder{}
	if o != nil {
		d.o = *o
	}
	d.o.Name = cmp.Or(d.o.Name, "decode")
	d.o.Workers = cmp.Or(d.o.Workers, runtime.GOMAXPROCS(0))
	if fn == nil || d.o.Workers < 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "decoder %q: a function, and no less than 1 worker, are needed", d.o.Name)
	}
	var err error
	d.layout, err = elements.Of(reflect.TypeFor[T](), elements.Specs{Spec: d.o.Spec, Fields: d.o.Fields, Composite: isComposite})
	if err != nil {
		return nil, fmt.Errorf("decoder %q: %w", d.o.Name, err)
	}
	d.call = tfbridge.Limited(d.o.Workers, func(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
		b := &decoding{ctx: ctx, decoder: d, records: args[0]}
		if len(args) > 1 {
			b.keys = args[1]
		}
		return decodeAll(b, fn)
	})
	return d, nil
}

// Spec returns the structure of the value of one record.
func (d *RecordDecoder) Spec() *Structure { return d.structure(tfbridge.ScalarShape()) }

// structure returns the structure of the values of records of a shape.
func (d *RecordDecoder) structure(records tfbridge.Shape) *Structure {
	return elements.Fold(d.layout.Root, func(n *elements.Node) *Structure {
		return DenseSpec(n.Spec.DType, joinShapes(records, n.Spec.Shape))
	}, FieldsSpec)
}

// joinShapes returns the shape of tensors of a shape in a tensor of another.
func joinShapes(outer, inner tfbridge.Shape) tfbridge.Shape {
	a, err := outer.ToSlice()
	if err != nil {
		return tfbridge.Shape{}
	}
	b, err := inner.ToSlice()
	if err != nil {
		return tfbridge.Shape{}
	}
	return tfbridge.MakeShape(append(a, b...)...)
}

// Decode adds a call of the decoder, in a graph or a function, and returns a
// tensor for each part of the values, in the order of the leaves of
// [RecordDecoder.Spec]: [Bind] makes a Go value of them. Records is a string
// tensor of any shape, and the result's shape is that shape followed by the part's
// own. Keys name the records in errors: a string tensor of the same shape, or the
// zero Output for none.
//
// A call costs tens of microseconds, so decode batches where the values of a batch
// are of one shape. Only this process can run the operation.
//
// It wraps TF_NewAsyncKernelBuilder.
func (d *RecordDecoder) Decode(s *graph.Scope, records, keys tfbridge.Output) []tfbridge.Output {
	args := []tfbridge.Output{records}
	if keys.Op != nil {
		args = append(args, keys)
	}
	if s.Err() == nil {
		for i, p := range graph.SpecsOf(args) {
			if p.DType != tfbridge.String {
				s.UpdateErr(d.o.Name, millrace.Errorf(millrace.ErrModel, "argument %d is a %v; records and keys are strings", i, p))
			}
		}
	}
	if s.Err() != nil {
		return make([]tfbridge.Output, len(d.layout.Parts))
	}
	spec := graph.GoCallSpec{Name: d.o.Name, Fn: d.call, Pure: !d.o.Stateful, Out: d.structure(records.Shape()).Specs()}
	return graph.GoCall(s, spec, args...)
}

// DecodeRecords maps d to the values of its records. An element of d is a string
// tensor of records, or a tuple of the records and their keys. In each element the
// result has the shape of the records followed by the part's own. It is
// [RecordDecoder.Decode] in a [Dataset.Map].
func (d *Dataset) DecodeRecords(decoder *RecordDecoder, o *MapOptions) *Dataset {
	d = d.orNone()
	switch {
	case d.scope.Err() != nil:
		return &Dataset{scope: d.scope}
	case decoder == nil:
		return d.fail("Dataset.DecodeRecords", "the decoder is nil")
	case len(d.specs) > 2 || d.Spec().Kind == KindFields:
		return d.fail("Dataset.DecodeRecords", "elements are %v, want records, or records and their keys", d.Spec())
	}
	return d.Map(decoder.o.Name, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		args = append(args, tfbridge.Output{})
		return decoder.Decode(s, args[0], args[1])
	}, o).as(decoder.structure(d.specs[0].Shape))
}

// decoding is one call of a decoder.
type decoding struct {
	ctx           context.Context
	decoder       *RecordDecoder
	records, keys *tfbridge.Tensor // keys may be nil
}

// decodeAll decodes the records of a call.
func decodeAll[T any](b *decoding, fn func([]byte) (T, error)) ([]*tfbridge.Tensor, error) {
	records, err := b.records.Strings()
	if err != nil {
		return nil, err
	}
	columns := b.decoder.layout.Columns(elements.ColumnsOptions{Empty: true})
	value := new(T) // reflects every value without an allocation
	reflected := reflect.ValueOf(value).Elem()
	var record []byte
	for i := range records {
		if b.ctx.Err() != nil {
			return nil, millrace.Canceled(b.ctx, "")
		}
		record = append(record[:0], records[i]...)
		if *value, err = decodeOne(fn, record); err != nil {
			return nil, b.failed(i, "", err)
		}
		switch ok, part, err := columns.Add(reflected); {
		case err != nil:
			return nil, b.failed(i, part, err)
		case !ok:
			return nil, b.failed(i, part, millrace.Errorf(millrace.ErrSchema, "another shape than the records before it in the tensor"))
		}
	}
	return columns.Tensors(b.records.Shape()...)
}

// decodeOne calls the function, and returns a panic as an error.
func decodeOne[T any](fn func([]byte) (T, error), record []byte) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = tfbridge.PanicError(r)
		}
	}()
	return fn(record)
}

// failed returns the error about a record, and about a part of its value.
func (b *decoding) failed(i int, part string, err error) error {
	e := &RecordError{Index: i, Err: err}
	if b.keys != nil {
		if keys, err := b.keys.Strings(); err == nil && i < len(keys) {
			e.Key = keys[i]
		}
	}
	class := millrace.ErrCorrupt
	var known millrace.Class
	if errors.As(err, &known) {
		class = known
	}
	return &millrace.Error{Class: class, Op: "decode", Loader: b.decoder.o.Name, Record: -1, Offset: -1, Feature: part, Msg: e.Error(), Err: e}
}
