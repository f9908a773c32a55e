package dataset

import (
	"context"
	"errors"
	"io"
	"reflect"

	"millrace"
	"millrace/graph/internal/elements"
	"millrace/tfbridge"
)

// openReader is a reader of an iterator.
type openReader struct {
	src     *readerSource
	reader  valueReader
	columns *elements.Columns

	state   string // state of the reader at a position of the dataset
	skipped int64  // elements delivered since state
	waiting reflect.Value
	err     error // why the reader has stopped; io.EOF at the end, and after the error was reported
}

// skip reads elements that the dataset has delivered, and returns the token that
// closes the reader with the iterator.
func (r *openReader) skip(ctx context.Context, n int64) (*tfbridge.Tensor, error) {
	for r.skipped = 0; r.skipped < n; r.skipped++ {
		if ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "")
		}
		if _, err := r.reader.NextValue(); err != nil {
			return nil, err
		}
	}
	return tfbridge.NewToken(r, r.close)
}

// close closes the reader. TensorFlow holds the token during a call, so no call
// uses the reader any more.
func (r *openReader) close() { r.reader.Close() }

// chunk reads elements and returns the next state of the scan and their tensors.
// The token is the first result.
func (r *openReader) chunk(token *tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	n, err := r.fill()
	if n == 0 {
		if err == nil || err == io.EOF {
			err = tfbridge.ErrEndOfSequence
		} else {
			err, r.err = r.src.failed(err), io.EOF // reported once
		}
		return nil, err
	}
	results := []*tfbridge.Tensor{token}
	state, err := tfbridge.NewTensor(r.state)
	results = append(results, state)
	if err == nil {
		var skipped *tfbridge.Tensor
		skipped, err = tfbridge.NewTensor(r.skipped)
		results = append(results, skipped)
	}
	var parts []*tfbridge.Tensor
	if err == nil {
		parts, err = r.columns.Tensors(n)
	}
	if err != nil {
		for _, t := range results[1:] {
			t.Close()
		}
		return nil, err
	}
	return append(results, parts...), nil
}

// fill fills the columns with a chunk, and returns how many elements it has and
// why it has no more, nil if it is full. It counts what the dataset delivers.
func (r *openReader) fill() (n int64, err error) {
	for r.err == nil && n < int64(r.src.o.Chunk) && r.columns.Bytes() < readerChunkBytes {
		waited := n == 0 && r.waiting.IsValid()
		var fits bool
		if fits, r.err = r.add(int(n)); !fits {
			break
		}
		n++
		r.skipped++
		if waited { // it is now in the chunk, so the reader is at the dataset's position
			r.waiting = reflect.Value{}
			r.err = r.save()
		}
	}
	if r.err == nil && !r.waiting.IsValid() {
		r.err = r.save()
	}
	return n, r.err
}

// save asks the reader for its state, which is also the state of the dataset.
func (r *openReader) save() error {
	state, err := r.reader.State()
	if err == nil {
		r.state, r.skipped = string(state), 0
	}
	return err
}

// add appends the waiting element, or the next one. It returns false if the element
// must wait because its shape differs from the n elements before it.
func (r *openReader) add(n int) (bool, error) {
	value := r.waiting
	if n > 0 || !value.IsValid() {
		var err error
		if value, err = r.nextValue(); err != nil {
			return false, err
		}
	}
	ok, part, err := r.columns.Add(value)
	if ok {
		return true, nil
	}
	r.columns.Truncate(n)
	if err != nil {
		e := tfbridge.ClassifyError(err)
		e.Feature = part
		return false, e
	}
	r.waiting = value
	return false, nil
}

// nextValue reads an element, and returns a panic as an error.
func (r *openReader) nextValue() (v reflect.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = tfbridge.PanicError(p)
		}
	}()
	v, err = r.reader.NextValue()
	if errors.Is(err, io.EOF) && err != io.EOF {
		return v, r.src.failed(err)
	}
	return v, err
}
