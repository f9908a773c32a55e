package native_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// buffers are the sizes of a shuffle with buffers, and its files.
type buffers struct {
	counts                      []int64
	files, filesAtOnce, records int64
	seed, epochs, start         int64
}

// drawBuffers draws files of 0 to 40 records and sizes that are smaller than those, as
// large, or larger.
func drawBuffers(r *rand.Rand) *buffers {
	b := &buffers{
		files: 1 + r.Int64N(12), filesAtOnce: 1 + r.Int64N(12), records: 1 + r.Int64N(1+r.Int64N(300)),
		seed: int64(r.Uint64()), epochs: 1 + r.Int64N(3),
	}
	total := int64(0)
	for range 1 + r.IntN(10) {
		n := max(r.Int64N(60)-20, 0)
		b.counts = append(b.counts, n)
		total += n
	}
	b.start = r.Int64N(b.epochs*total + 1)
	return b
}

// tensorFlowOrder returns the record numbers in the order of tf.data's own shuffles.
func (b *buffers) tensorFlowOrder(s *graph.Scope) *dataset.Dataset {
	var begins, ends []int64
	total := int64(0)
	for _, n := range b.counts {
		begins, ends = append(begins, total), append(ends, total+n)
		total += n
	}
	return dataset.Range(s, 0, b.epochs, 1).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		shuffle := func(d *dataset.Dataset, size, stream int64) *dataset.Dataset {
			return d.ShuffleOutput(size, s.Const(b.seed), graph.Add(s, graph.Mul(s, args[0], s.Const(int64(4))), s.Const(stream)))
		}
		d := shuffle(dataset.FromSlices(s, s.Const(begins), s.Const(ends)), b.files, 1)
		d = d.Interleave("file", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
			return dataset.RangeOutput(s, args[0], args[1])
		}, &dataset.InterleaveOptions{CycleLength: b.filesAtOnce})
		return shuffle(d, b.records, 2)
	}).Skip(b.start)
}

// order returns the same order, computed, for files in which each record contains its
// number.
func (b *buffers) order(t *testing.T, s *graph.Scope) *native.Order {
	t.Helper()
	var paths []string
	var lengths []uint32
	for _, n := range b.counts {
		var records [][]byte
		for range n {
			records = append(records, fmt.Appendf(nil, "%4d", len(lengths)))
			lengths = append(lengths, 4)
		}
		paths = append(paths, writeFile(t, corrupt.Frame(records...)))
	}
	total := int64(len(lengths))
	return &native.Order{
		Filenames: s.Const(paths), Counts: s.Const(b.counts), Lengths: s.Const(append(make([]uint32, 0, 1), lengths...)),
		Start: s.Const(b.start), Shuffling: "buffer", Seed: b.seed, Mixed: b.records, FilesBuffer: b.files, FilesAtOnce: b.filesAtOnce,
		Parts: []native.OrderPart{{Records: total}}, Size: total, Epochs: b.epochs, Threads: 2,
	}
}

// The computed order of shuffle buffers equals the order of tf.data's buffers, from any
// position on.
func TestBufferOrderIsThatOfTensorFlow(t *testing.T) {
	needLibrary(t)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range 40 {
		b, s := drawBuffers(r), newScope(t)
		var want []any
		for _, number := range all(t, b.tensorFlowOrder(s)) {
			want = append(want, fmt.Sprintf("%4d", number))
		}
		var got []any
		for _, record := range all(t, native.OrderedRecords(s, b.order(t, s))) {
			got = append(got, record.(string)[:4]) // the location follows
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("case %d, %+v (-TensorFlow +native)\n%s", i, b, diff)
		}
	}
}

// An order may end before its last record: the function of a block reads only its own.
func TestOrderEnds(t *testing.T) {
	needLibrary(t)
	b, s := &buffers{counts: []int64{30, 0, 11}, files: 1, filesAtOnce: 1, records: 1, epochs: 2}, newScope(t)
	part := func(shuffling string, start tfbridge.Output) []any {
		o := b.order(t, s)
		o.Shuffling, o.Start = shuffling, start
		return all(t, native.OrderedRecords(s, o))
	}
	for _, shuffling := range []string{"none", "exact"} {
		whole := part(shuffling, s.Const(int64(0)))
		if diff := cmp.Diff(whole[25:60], part(shuffling, s.Const([]int64{25, 60}))); diff != "" || len(whole) != 82 {
			t.Errorf("%s: %d records (-want +got)\n%s", shuffling, len(whole), diff)
		}
		if got := part(shuffling, s.Const([]int64{80, 100})); len(got) != 2 {
			t.Errorf("%s: %d records after the end", shuffling, len(got)-2)
		}
	}
}
