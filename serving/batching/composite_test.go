package batching

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"millrace/graph"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// rowSummer is a model that adds the values of each row of a ragged tensor (values, inner,
// outer) and of a sparse one (cells, at, dense). It refuses negative values.
type rowSummer struct {
	began chan string
	gate  chan struct{}

	mu   sync.Mutex
	rows []int64 // rows of each run
}

func (m *rowSummer) Signatures() map[string]tfbridge.Signature {
	info := func(dt tfbridge.DataType, sizes ...int64) tfbridge.TensorInfo {
		return tfbridge.TensorInfo{DType: dt, Shape: tfbridge.MakeShape(sizes...)}
	}
	return map[string]tfbridge.Signature{graph.DefaultSignature: {
		Inputs: map[string]tfbridge.TensorInfo{
			"values": info(tfbridge.Float, -1), "outer": info(tfbridge.Int64, -1), "inner": info(tfbridge.Int32, -1),
			"cells": info(tfbridge.Float, -1), "at": info(tfbridge.Int64, -1, 2), "dense": info(tfbridge.Int64, 2),
		},
		Outputs: map[string]tfbridge.TensorInfo{"y": info(tfbridge.Float, -1)},
	}}
}

func (m *rowSummer) Call(_ context.Context, _ string, inputs map[string]any, _ ...string) (map[string]*tfbridge.Tensor, error) {
	values, err := tfbridge.View[float32](inputs["values"].(*tfbridge.Tensor))
	if err != nil {
		return nil, err
	}
	outer, _ := tfbridge.View[int64](inputs["outer"].(*tfbridge.Tensor))
	inner, _ := tfbridge.View[int32](inputs["inner"].(*tfbridge.Tensor))
	cells, _ := tfbridge.View[float32](inputs["cells"].(*tfbridge.Tensor))
	at, _ := tfbridge.View[int64](inputs["at"].(*tfbridge.Tensor))
	dense, _ := tfbridge.View[int64](inputs["dense"].(*tfbridge.Tensor))
	m.mu.Lock()
	m.rows = append(m.rows, int64(len(outer)-1))
	m.mu.Unlock()
	if m.began != nil {
		m.began <- ""
		<-m.gate
	}
	if n := int64(len(outer) - 1); n != dense[0] || int(inner[len(inner)-1]) != len(values) || slices.ContainsFunc(values, func(v float32) bool { return v < 0 }) {
		return nil, &tfbridge.Error{Func: "test", Code: tfbridge.InvalidArgument, Msg: fmt.Sprint(outer, inner, values, dense)}
	}
	sums := make([]float32, len(outer)-1)
	for i := range sums {
		for _, v := range values[inner[outer[i]]:inner[outer[i+1]]] {
			sums[i] += v
		}
	}
	for i, v := range cells {
		sums[at[2*i]] += v * float32(at[2*i+1])
	}
	y, err := tfbridge.NewTensor(sums)
	return map[string]*tfbridge.Tensor{"y": y}, err
}

// mixed returns the inputs of a request.
func mixed(values []float32, outer []int64, inner []int32, cells []float32, at [][]int64, dense []int64) map[string]any {
	return map[string]any{"values": values, "outer": outer, "inner": inner, "cells": cells, "at": at, "dense": dense}
}

// Requests with ragged and sparse inputs share batches, where the owner of the model names these
// inputs. A request that the model refuses fails alone, and one whose parts contradict each other
// runs alone.
func TestCompositeInputs(t *testing.T) {
	testruntime.Need(t)
	noneLeft := leak.Objects(t, tfbridge.Live)
	one := mixed([]float32{1}, []int64{0, 1}, []int32{0, 1}, []float32{10}, [][]int64{{0, 1}}, []int64{1, 5})
	tests := []struct {
		inputs map[string]any
		want   []float32 // nil: refused
	}{
		{one, []float32{11}},
		{mixed([]float32{1, 2, 3}, []int64{0, 2, 2}, []int32{0, 1, 3}, []float32{1, 1}, [][]int64{{0, 4}, {1, 2}}, []int64{2, 5}), []float32{10, 2}},
		{mixed([]float32{-1}, []int64{0, 1}, []int32{0, 1}, []float32{10}, [][]int64{{0, 1}}, []int64{1, 5}), nil},
		{mixed([]float32{4, 5}, []int64{0, 1, 1, 2}, []int32{0, 1, 2}, []float32{100}, [][]int64{{2, 3}}, []int64{3, 5}), []float32{4, 0, 305}},
		{mixed([]float32{1}, []int64{0, 1}, []int32{0, 1}, []float32{10}, [][]int64{{0, 1}}, []int64{1, 6}), []float32{11}}, // another dense shape
		{mixed([]float32{1, 2}, []int64{0, 1}, []int32{0, 1}, []float32{10}, [][]int64{{0, 1}}, []int64{1, 5}), nil},        // a value too many
	}
	m := &rowSummer{began: make(chan string, 100), gate: make(chan struct{}, 100)}
	o := Options{AllowedBatchSizes: []int{4, 8}, MaxBatchSize: 8, EnableLargeBatchSplitting: true,
		Ragged: []RaggedInput{{Values: "values", RowSplits: []string{"outer", "inner"}}, {Values: "of another", RowSplits: []string{"signature"}}},
		Sparse: []SparseInput{{Indices: "at", Values: "cells", DenseShape: "dense"}}}
	b := newBatcher(t, m, o)
	var group sync.WaitGroup
	for i, tt := range tests {
		group.Go(func() {
			outputs, err := b.Predict(t.Context(), tt.inputs)
			if err != nil {
				if tt.want != nil {
					t.Errorf("request %d: %v", i, err)
				}
				return
			}
			defer outputs["y"].Close()
			if got, err := tfbridge.View[float32](outputs["y"]); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("request %d: got %v, %v, want %v", i, got, err, tt.want)
			}
		})
		if i == 0 {
			<-m.began
		} else {
			waitFor(b, i)
		}
	}
	close(m.gate)
	group.Wait()
	if want := []int64{1, 6, 2, 4, 1, 3, 1, 1}; !slices.Equal(m.rows, want) {
		t.Errorf("runs of %v rows, want %v", m.rows, want)
	}
	b.Close()
	if _, err := New(m, "", &Options{Ragged: []RaggedInput{{Values: "values", RowSplits: []string{"outr"}}}}); err == nil {
		t.Error("an input that is not there was accepted")
	}
	noneLeft()
}
