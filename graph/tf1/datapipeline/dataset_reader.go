package datapipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// DatasetReader reads a dataset and passes its sequences to a callback, which usually
// enqueues them. [NewDatasetReader] makes one.
type DatasetReader struct {
	activity
	externData *ExternData
	dataset    Dataset
	callback   func(ctx context.Context, element Element) error
	options    DatasetReaderOptions
	components []graph.Spec
	numSeqs    int64
}

// Element is a sequence as tensors: the data by key, the size of each dimension that varies
// by [Size], and the requested special keys.
type Element map[string]*tfbridge.Tensor

// Close frees the tensors.
func (e Element) Close() {
	for _, t := range e {
		t.Close()
	}
}

// DatasetReaderOptions select the special keys that a reader adds to the data.
type DatasetReaderOptions struct {
	WithSeqTag, WithSeqIdx bool
	// WithEpochEnd adds the key [EpochEnd], which is false, and one element after the last
	// sequence whose EpochEnd is true. The other values of that element are zeros without
	// frames, and its [SeqIdx] is the number of sequences.
	WithEpochEnd bool
}

// NewDatasetReader returns a reader. The callback may use its element until it
// returns. A nil o means the defaults.
func NewDatasetReader(externData *ExternData, dataset Dataset, callback func(ctx context.Context, element Element) error, o *DatasetReaderOptions) (*DatasetReader, error) {
	if err := externData.check(); err != nil {
		return nil, err
	}
	if dataset == nil || callback == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "the dataset or the callback is nil")
	}
	r := &DatasetReader{externData: externData, dataset: dataset, callback: callback}
	if o != nil {
		r.options = *o
	}
	r.components = externData.components(r.options.special()...)
	return r, nil
}

// special returns the special keys of the options.
func (o *DatasetReaderOptions) special() []string {
	var keys []string
	for i, with := range []bool{o.WithSeqTag, o.WithSeqIdx, o.WithEpochEnd} {
		if with {
			keys = append(keys, SpecialKeys()[i])
		}
	}
	return keys
}

// QueueComponents describes the elements in the form that queues take: names, data types
// and shapes, sorted by name.
func (r *DatasetReader) QueueComponents() []graph.Spec { return slices.Clone(r.components) }

// Loop reads the sequences of an epoch until they end, one fails, or ctx is done. It may be
// called again for another epoch, by one goroutine at a time. The error of a sequence
// includes its tag.
func (r *DatasetReader) Loop(ctx context.Context, epoch int64) (err error) {
	r.numSeqs = 0
	r.start()
	defer func() { r.stop(err) }()
	defer func() {
		if v := recover(); v != nil {
			err = r.failed(nil, tfbridge.PanicError(v))
		}
	}()
	for seq, err := range r.dataset.Sequences(ctx, epoch) {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "read of dataset "+r.dataset.Name())
		}
		if err == nil {
			err = r.read(ctx, seq)
		}
		if err != nil {
			return r.failed(seq, err)
		}
		r.numSeqs++
		r.moved()
	}
	if ctx.Err() != nil {
		return millrace.Canceled(ctx, "read of dataset "+r.dataset.Name())
	}
	if !r.options.WithEpochEnd {
		return nil
	}
	return r.end(ctx)
}

// end passes the element that ends an epoch to the callback.
func (r *DatasetReader) end(ctx context.Context) error {
	zeros, seq := Element{}, &Sequence{Data: map[string]any{}}
	defer func() { zeros.Close() }()
	for _, key := range r.externData.Keys() {
		t, err := zeroTensor(r.externData.Data[key])
		if err != nil {
			return err
		}
		zeros[key], seq.Data[key] = t, t
	}
	return r.hand(ctx, seq, true)
}

// zeroTensor returns zeros, or empty strings, of size 0 in the dimensions that vary.
func zeroTensor(d Data) (*tfbridge.Tensor, error) {
	dims, n := d.Shape.Dims(), int64(1)
	for i := range dims {
		dims[i] = max(dims[i], 0)
		n *= dims[i]
	}
	if d.DType == tfbridge.String {
		return tfbridge.NewStringTensor(dims, make([]string, n))
	}
	return tfbridge.NewTensorFromBytes(d.DType, dims, make([]byte, n*int64(d.DType.Size())))
}

// failed adds the sequence to err.
func (r *DatasetReader) failed(seq *Sequence, err error) error {
	tag := "without a tag"
	if seq != nil && seq.Tag != "" {
		tag = fmt.Sprintf("%q", seq.Tag)
	}
	return fmt.Errorf("dataset %s: sequence %s (%s %d): %w", r.dataset.Name(), tag, SeqIdx, r.numSeqs, err)
}

// read checks that a sequence has the keys of the extern data and passes it on.
func (r *DatasetReader) read(ctx context.Context, seq *Sequence) error {
	if seq == nil {
		return millrace.Errorf(millrace.ErrSchema, "it is nil")
	}
	for _, key := range slices.Sorted(maps.Keys(seq.Data)) {
		if _, ok := r.externData.Data[key]; !ok {
			return millrace.Errorf(millrace.ErrSchema, "it has a key %q, which is not among the keys %q", key, r.externData.Keys())
		}
	}
	return r.hand(ctx, seq, false)
}

// hand makes an element of a sequence and calls the callback.
func (r *DatasetReader) hand(ctx context.Context, seq *Sequence, end bool) error {
	element, made := Element{}, Element{} // made are the tensors to close
	defer func() { made.Close() }()
	set := func(key string, value any) error {
		t, err := tfbridge.NewTensor(value)
		if err != nil {
			return millrace.Errorf(millrace.ErrSchema, "key %q: %w", key, err)
		}
		element[key], made[key] = t, t
		return nil
	}
	for _, key := range r.externData.Keys() {
		t, isTensor := seq.Data[key].(*tfbridge.Tensor)
		if !isTensor {
			var err error
			if t, err = r.tensor(key, seq.Data[key]); err != nil {
				return err
			}
			made[key] = t
		}
		element[key] = t
		if err := r.checkValue(key, t); err != nil {
			return err
		}
		for _, axis := range r.externData.Data[key].sizeAxes() {
			if err := set(Size(key, axis), int32(t.Shape()[axis])); err != nil {
				return err
			}
		}
	}
	special := map[string]any{SeqTag: seq.Tag, SeqIdx: int32(r.numSeqs), EpochEnd: end}
	for _, key := range r.options.special() {
		if err := set(key, special[key]); err != nil {
			return err
		}
	}
	return r.callback(ctx, element)
}

// tensor converts a Go value to a tensor. The sizes of the inner dimensions of an empty
// slice are unknown, so it becomes the tensor without frames.
func (r *DatasetReader) tensor(key string, value any) (*tfbridge.Tensor, error) {
	if value == nil {
		return nil, millrace.Errorf(millrace.ErrSchema, "it has no key %q", key)
	}
	t, err := tfbridge.NewTensor(value)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrSchema, "key %q: %w", key, err)
	}
	d := r.externData.Data[key]
	if shape := t.Shape(); len(shape) == d.Shape.NumDimensions() && len(shape) > 0 && shape[0] == 0 && t.DataType() == d.DType {
		t.Close()
		return zeroTensor(d)
	}
	return t, nil
}

// checkValue checks the data type and shape of the value of a key.
func (r *DatasetReader) checkValue(key string, t *tfbridge.Tensor) error {
	want := r.externData.Data[key]
	if t.DataType() != want.DType || !want.Shape.Accepts(t.Shape()) {
		return millrace.Errorf(millrace.ErrSchema, "key %q is %v, must be %v %v", key, t, want.DType, want.Shape)
	}
	return nil
}
