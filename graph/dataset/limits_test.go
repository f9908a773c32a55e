package dataset_test

import (
	"errors"
	"math"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func TestLimits(t *testing.T) {
	empty := func(s *graph.Scope, args outs) *dataset.Dataset { return dataset.Range(s, 0, 1, 1) }
	tests := []struct {
		name  string
		build func(d *dataset.Dataset)
		class millrace.Class
	}{
		{"batch", func(d *dataset.Dataset) { d.Batch(0, false) }, millrace.ErrModel},
		{"large batch", func(d *dataset.Dataset) { d.Batch(1<<30, true) }, millrace.ErrLimit},
		{"large batch, parallel", func(d *dataset.Dataset) { d.BatchParallel(1<<30, true, 2) }, millrace.ErrLimit},
		{"large sparse batch", func(d *dataset.Dataset) { d.SparseBatch(1<<30, nil) }, millrace.ErrLimit},
		{"large padded batch", func(d *dataset.Dataset) { d.PaddedBatch(1<<30, nil) }, millrace.ErrLimit},
		{"threads", func(d *dataset.Dataset) { d.WithOptions(&dataset.Options{PrivateThreads: 1 << 20}) }, millrace.ErrLimit},
		{"rebatch", func(d *dataset.Dataset) { d.Rebatch(-1, false) }, millrace.ErrModel},
		{"padded batch", func(d *dataset.Dataset) { d.PaddedBatch(0, nil) }, millrace.ErrModel},
		{"padded dimension", func(d *dataset.Dataset) {
			d.Batch(2, false).PaddedBatch(1, &dataset.PaddedBatchOptions{Shapes: [][]int64{{1 << 32}}})
		}, millrace.ErrLimit},
		{"padded bytes", func(d *dataset.Dataset) {
			d.Batch(2, false).PaddedBatch(1<<20, &dataset.PaddedBatchOptions{Shapes: [][]int64{{1 << 30}}})
		}, millrace.ErrLimit},
		{"padded bytes that overflow", func(d *dataset.Dataset) { d.PaddedBatch(math.MaxInt64, nil) }, millrace.ErrLimit},
		{"shuffle nothing", func(d *dataset.Dataset) { d.Shuffle(0, nil) }, millrace.ErrModel},
		{"shuffle", func(d *dataset.Dataset) { d.Shuffle(1<<40, nil) }, millrace.ErrLimit},
		{"map", func(d *dataset.Dataset) { d.Map("f", double, &dataset.MapOptions{Parallel: 1 << 20}) }, millrace.ErrLimit},
		{"map below", func(d *dataset.Dataset) { d.Map("f", double, &dataset.MapOptions{Parallel: -2}) }, millrace.ErrModel},
		{"cycle", func(d *dataset.Dataset) {
			d.Interleave("f", empty, &dataset.InterleaveOptions{CycleLength: 1 << 40})
		}, millrace.ErrLimit},
		{"interleave", func(d *dataset.Dataset) {
			d.Interleave("f", empty, &dataset.InterleaveOptions{Parallel: 1 << 40})
		}, millrace.ErrLimit},
		{"read buffer", func(d *dataset.Dataset) {
			dataset.TFRecords(d.Scope(), d.Scope().Const("x"), &dataset.TFRecordsOptions{BufferBytes: 1 << 34})
		}, millrace.ErrLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			tt.build(dataset.Range(s, 0, 3, 1))
			if err := s.Err(); !errors.Is(err, tt.class) {
				t.Errorf("error\n got %v\nwant one of class %v", err, tt.class)
			}
		})
	}
}

// A fed size is checked when an iterator is initialized.
func TestFedBatchSize(t *testing.T) {
	s := newScope(t)
	size := s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	d := dataset.Range(s, 0, 5, 1)
	padded := d.PaddedBatch(2, &dataset.PaddedBatchOptions{Size: size})
	tests := []struct {
		name string
		d    *dataset.Dataset
		n    int64
		good bool
	}{
		{"batch", d.BatchOutput(size, true), 2, true},
		{"batch of 0", d.BatchOutput(size, false), 0, false},
		{"large batch", d.BatchOutput(size, true), 1 << 40, false},
		{"padded batch", padded, 2, true},
		{"padded batch above n", padded, 3, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := tfbridge.NewTensor(tt.n)
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			err = nil
			for _, e := range tt.d.All(t.Context(), &dataset.IterateOptions{Feeds: map[out]*tfbridge.Tensor{size: n}}) {
				err = e
			}
			if tt.good != (err == nil) || !tt.good && !errors.Is(err, tfbridge.InvalidArgument) {
				t.Errorf("%d: error %v", tt.n, err)
			}
		})
	}
}
