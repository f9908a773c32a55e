package batching

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// floatRows returns rows of floats of a shape.
func floatRows(shape []int64, values ...float32) Rows {
	r := Rows{DType: tfbridge.Float, Shape: shape, Bytes: []byte{}}
	for _, v := range values {
		r.Bytes = binary.NativeEndian.AppendUint32(r.Bytes, math.Float32bits(v))
	}
	return r
}

// askRows calls PredictRows in a goroutine.
func askRows(ctx context.Context, b *Batcher, x Rows) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		var a answer
		a.err = b.PredictRows(ctx, []Rows{x}, func(outputs []Output) error {
			if len(outputs) != 1 || outputs[0].Name != "y" || outputs[0].Rows != x.Shape[0] {
				return fmt.Errorf("outputs %+v", outputs)
			}
			row := elements(outputs[0].Tensor.Shape()[1:])
			all, err := tfbridge.View[float32](outputs[0].Tensor)
			a.values = slices.Clone(all[outputs[0].Start*row : (outputs[0].Start+outputs[0].Rows)*row])
			return err
		})
		got <- a
	}()
	return got
}

// Rows and tensors are joined in one batch, padded or not, and each request reads its
// own rows.
func TestPredictRows(t *testing.T) {
	m := gated()
	m.shape = tfbridge.MakeShape(-1, -1)
	b := newBatcher(t, m, Options{PadVariableLengthInputs: true, MaxBatchSize: 8, AllowedBatchSizes: []int{1, 8}})
	answers := []<-chan answer{askRows(t.Context(), b, floatRows([]int64{1, 1}, 9))}
	<-m.began
	answers = append(answers, askRows(t.Context(), b, floatRows([]int64{1, 2}, 1, 2)))
	waitFor(b, 1)
	answers = append(answers, ask(t.Context(), b, [][]float32{{3, 4, 5}}))
	waitFor(b, 2)
	answers = append(answers, askRows(t.Context(), b, floatRows([]int64{2, 3}, 6, 7, 8, 9, 10, 11)))
	waitFor(b, 3)
	close(m.gate)
	for i, want := range [][]float32{{18}, {2, 4, 2}, {6, 8, 10}, {12, 14, 16, 18, 20, 22}} {
		if a := <-answers[i]; a.err != nil || !slices.Equal(a.values, want) {
			t.Errorf("request %d: got %v, %v, want %v", i, a.values, a.err, want)
		}
	}
	if got := m.batches(); !slices.Equal(got, []int64{1, 8}) {
		t.Errorf("batches of %v rows", got)
	}
}

// Rows that cannot share a batch are read from a tensor that has only them.
func TestRowsAlone(t *testing.T) {
	m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}
	b := newBatcher(t, m, Options{MaxBatchSize: 2, AllowedBatchSizes: []int{2}})
	for _, rows := range []Rows{floatRows([]int64{3}, 1, 2, 3), floatRows(nil, 4), floatRows([]int64{1, 2}, 5, 6)} {
		err := b.PredictRows(t.Context(), []Rows{rows}, func(outputs []Output) error {
			o := outputs[0]
			want := int64(0)
			if len(rows.Shape) > 0 {
				want = rows.Shape[0]
			}
			if o.Start != 0 || o.Rows != want {
				t.Errorf("%v: %d rows from row %d, want %d", rows.Shape, o.Rows, o.Start, want)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%v: %v", rows.Shape, err)
		}
	}
}

// A request of rows that is split reads all of its outputs in one tensor.
func TestSplitRows(t *testing.T) {
	m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}
	b := newBatcher(t, m, Options{MaxBatchSize: 5, MaxExecutionBatchSize: 2, EnableLargeBatchSplitting: true})
	if a := <-askRows(t.Context(), b, floatRows([]int64{5}, 1, 2, 3, 4, 5)); a.err != nil || !slices.Equal(a.values, []float32{2, 4, 6, 8, 10}) {
		t.Errorf("got %v, %v", a.values, a.err)
	}
}

// Rows that do not fit the signature, or whose bytes are too few or too many for their
// shape, are errors, and so is an error returned by read.
func TestPredictRowsErrors(t *testing.T) {
	m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1, 2)}
	b := newBatcher(t, m, Options{MaxBatchSize: 2})
	short := floatRows([]int64{1, 2}, 1)
	for _, tt := range []struct {
		inputs []Rows
		want   string
	}{
		{nil, "0 inputs"},
		{[]Rows{short}, "needs 8 bytes, got 4"},
		{[]Rows{floatRows([]int64{1, -2})}, "-2"},
		{[]Rows{{DType: tfbridge.String, Shape: []int64{1, 2}}}, "have no bytes"},
		{[]Rows{{DType: tfbridge.Int32, Shape: []int64{1, 2}, Bytes: make([]byte, 8)}}, "takes type float32, got int32"},
	} {
		err := b.PredictRows(t.Context(), tt.inputs, func([]Output) error { t.Error("read was called"); return nil })
		if !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %s", tt.inputs, err, tt.want)
		}
	}
	mine := errors.New("mine")
	if err := b.PredictRows(t.Context(), []Rows{floatRows([]int64{1, 2}, 1, 2)}, func([]Output) error { return mine }); err != mine {
		t.Errorf("got %v, want the error of read", err)
	}
	var none *Batcher
	if err := none.PredictRows(t.Context(), nil, nil); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("nil batcher: %v", err)
	}
}

// A request that leaves while its batch waits gets an error, and is not computed.
func TestPredictRowsLeaves(t *testing.T) {
	m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}
	b := newBatcher(t, m, Options{MaxBatchSize: 2, BatchTimeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	left := askRows(ctx, b, floatRows([]int64{1}, 1))
	waitFor(b, 1)
	cancel()
	if a := <-left; !errors.Is(a.err, millrace.ErrCanceled) {
		t.Errorf("got %v, %v", a.values, a.err)
	}
	if got := m.batches(); len(got) != 0 {
		t.Errorf("batches of %v rows", got)
	}
}
