package plan

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/machine"
	"millrace/loaders/size"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// TestMemory compares plans with as much memory as they need, and with one byte
// less.
func TestMemory(t *testing.T) {
	big := spec.TensorSpec{Name: "big", DType: tfbridge.Float, Shape: []int64{1 << 16, 1 << 16}} // 16 GiB
	padded := spec.TensorSpec{Name: "padded", DType: tfbridge.String, Shape: []int64{-1}}
	small := spec.TensorSpec{Name: "small", DType: tfbridge.Int64, Shape: []int64{}}
	const gib = 1 << 30
	tests := []struct {
		name    string
		spec    spec.Spec
		records int64
		need    int64
		largest string
	}{
		{"one example", spec.Spec{Tensors: []spec.TensorSpec{small, big}, BatchSize: 100, Epochs: 1, Prefetch: 3}, 1, 16*gib + 8, "big"},
		{"as many as there are", spec.Spec{Tensors: []spec.TensorSpec{big}, BatchSize: 100, Epochs: 2}, 2, 64 * gib, "big"},
		{"prefetched", spec.Spec{Tensors: []spec.TensorSpec{big}, BatchSize: 1, Epochs: 1, Prefetch: 3}, 100, 64 * gib, "big"},
		{"fewer batches than prefetch", spec.Spec{Tensors: []spec.TensorSpec{big}, BatchSize: 1, Epochs: 1, Prefetch: 3}, 2, 32 * gib, "big"},
		{"endless", spec.Spec{Tensors: []spec.TensorSpec{big}, BatchSize: 3, Prefetch: 1}, 1, 96 * gib, "big"},
		{"windows", spec.Spec{Tensors: []spec.TensorSpec{big}, BatchSize: 3, Epochs: 1, Window: &spec.Window{}}, 9, 16 * gib, "big"},
		{"padding", spec.Spec{Tensors: []spec.TensorSpec{padded}, Padding: []spec.Pad{{Shape: []int64{1 << 20}}}, BatchSize: 1, Epochs: 1}, 1, 24 << 20, "padded"},
		{"a shape of the data", spec.Spec{Tensors: []spec.TensorSpec{padded, small}, BatchSize: 1, Epochs: 1}, 1, 8, "small"},
		{"a constant that is sliced", spec.Spec{Tensors: []spec.TensorSpec{{Name: "c", DType: tfbridge.Float, Shape: []int64{1}}},
			Secondaries: []spec.Const{{To: "c", DType: tfbridge.Float, Shape: []int64{gib}}}, BatchSize: 2, Epochs: 1}, 2, 8*gib + 8, "c"},
		{"no records", spec.Spec{Tensors: []spec.TensorSpec{big}, BatchSize: 1, Epochs: 1}, 0, 0, ""},
		{"more than can be counted", spec.Spec{Tensors: []spec.TensorSpec{big, big}, BatchSize: 1 << 31, Prefetch: 1 << 31}, 1, machine.Unlimited - 1, "big"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Manifest = &spec.Manifest{}
			p, scan := New(&tt.spec, nil), &Scan{Indexes: []*tfrecord.Index{{Records: tt.records}}}
			rows, known := p.Rows(scan)
			if err := size.CheckMemory(p.Spec, rows, known, machine.Memory{Bytes: tt.need}); err != nil {
				t.Errorf("enough: %v", err)
			}
			err := size.CheckMemory(p.Spec, rows, known, machine.Memory{Bytes: tt.need - 1, Bound: "the machine has left"})
			var e *millrace.Error
			if tt.need > 0 && (!errors.As(err, &e) || e.Class != millrace.ErrLimit || e.Tensor != tt.largest || !strings.Contains(e.Msg, "the machine has left")) {
				t.Errorf("one byte less: %v", err)
			}
		})
	}
}
