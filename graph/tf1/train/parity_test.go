package train_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/graph/tf1/train"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// recorded is the result of a case: the batches, the code at the end of the data, and the
// code of Join's error. testdata/parity/record.py writes it.
type recorded struct {
	Batches [][]string
	End     tfbridge.Code
	Join    tfbridge.Code
}

// rows returns the rows of all batches, in order.
func (r recorded) rows() []string { return slices.Concat(r.Batches...) }

// sizes returns the sizes of the batches.
func (r recorded) sizes() []int {
	var sizes []int
	for _, b := range r.Batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

// parityCase builds the same pipeline as the case of that name in record.py.
type parityCase struct {
	name    string
	build   func(p *pipelines) tfbridge.Output
	inOrder bool // the order is defined: there is one goroutine
	partial bool // the number of batches before the error depends on timing
	bare    bool // the variables are not initialized
}

// pipelines builds pipelines over the files of record.py.
type pipelines struct {
	*graph.Scope
	folder string
}

func (p *pipelines) paths(names ...string) []string {
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(p.folder, name))
	}
	return paths
}

// files returns a queue of file names.
func (p *pipelines) files(epochs int64, names ...string) *queue.Queue {
	return train.StringInputProducer(p.Scope, p.Const(p.paths(names...)), &train.ProducerOptions{NumEpochs: epochs, InOrder: true})
}

// values returns one record.
func (p *pipelines) values(epochs int64, names ...string) tfbridge.Output {
	if names == nil {
		names = []string{"a", "b", "c"}
	}
	_, value := reader.NewTFRecord(p.Scope, &reader.TFRecordOptions{TensorFlow: true}).Read(p.Scope, p.files(epochs, names...))
	return value
}

// readers returns one record of each of n readers that share a queue of file names.
func (p *pipelines) readers(n int, epochs int64, names ...string) []train.Tensors {
	var all []train.Tensors
	for _, value := range p.readersOf(p.files(epochs, names...), n) {
		all = append(all, dense(value))
	}
	return all
}

// readersOf returns one record of each of n readers of a queue of file names.
func (p *pipelines) readersOf(files *queue.Queue, n int) []tfbridge.Output {
	var all []tfbridge.Output
	for range n {
		_, value := reader.NewTFRecord(p.Scope, &reader.TFRecordOptions{TensorFlow: true}).Read(p.Scope, files)
		all = append(all, value)
	}
	return all
}

func dense(outputs ...tfbridge.Output) train.Tensors { return train.Tensors{Dense: outputs} }

// letters returns the bytes of a record as rows.
func (p *pipelines) letters(value tfbridge.Output) tfbridge.Output {
	return graph.Reshape(p.Scope, graph.DecodeRaw(p.Scope, value, tfbridge.Uint8, nil), p.Const([]int64{-1}))
}

// even reports whether the index of a record is even.
func (p *pipelines) even(value tfbridge.Output) tfbridge.Output {
	digit := p.Op1("Substr", nil, value, p.Const(int32(1)), p.Const(int32(1)))
	number := p.Op1("StringToNumber", map[string]any{"out_type": tfbridge.Int32}, digit)
	return graph.Equal(p.Scope, graph.FloorMod(p.Scope, number, p.Const(int32(2))), p.Const(int32(0)))
}

// matrix is the preloaded data of record.py: 7 rows of 2 numbers.
func (p *pipelines) matrix() tfbridge.Output {
	rows := make([][]int64, 7)
	for i := range rows {
		rows[i] = []int64{int64(2 * i), int64(2*i + 1)}
	}
	return p.Const(rows)
}

// sparse returns a sparse vector, or with rows a matrix of one row, of n values n.
func (p *pipelines) sparse(n tfbridge.Output, rows bool) train.Tensors {
	s := p.Scope
	long := graph.Cast(s, n, tfbridge.Int64)
	values := s.Op1("Fill", nil, graph.Reshape(s, n, s.Const([]int64{1})), n)
	columns := s.Op1("Range", nil, s.Const(int64(0)), long, s.Const(int64(1)))
	size := graph.Add(s, long, s.Const(int64(1)))
	indices := graph.Reshape(s, columns, s.Const([]int64{-1, 1}))
	shape := graph.Reshape(s, size, s.Const([]int64{1}))
	if rows {
		indices = graph.Pack(s, []tfbridge.Output{s.Op1("ZerosLike", nil, columns), columns}, 1)
		shape = graph.Pack(s, []tfbridge.Output{s.Const(int64(2)), size}, 0)
	}
	return train.Tensors{Sparse: []graph.SparseTensor{{Indices: indices, Values: values, Shape: shape}}}
}

// sparseRows returns each value of a batch of sparse tensors with its index and the
// columns of the batch.
func (p *pipelines) sparseRows(batch train.Tensors) tfbridge.Output {
	s := p.Scope
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	x := batch.Sparse[0]
	column := func(v tfbridge.Output) tfbridge.Output {
		return graph.Reshape(s, graph.Cast(s, v, tfbridge.Int64), s.Const([]int64{-1, 1}))
	}
	first := graph.Subscript(s, x.Indices, graph.Whole(), graph.Between(0, 1))
	columns := graph.Add(s, graph.Mul(s, first, s.Const(int64(0))), graph.Subscript(s, x.Shape, graph.At(1)))
	return graph.ConcatV2(s, []tfbridge.Output{x.Indices, column(x.Values), columns}, 1)
}

// seed is Python's seed=n.
func seed(n, epochs int64) *train.ProducerOptions {
	return &train.ProducerOptions{NumEpochs: epochs, Seed: queue.DefaultSeed, Seed2: n}
}

// inOrder are two epochs that are not shuffled.
func inOrder() *train.ProducerOptions { return &train.ProducerOptions{NumEpochs: 2, InOrder: true} }

func producerCases() []parityCase {
	words := []string{"x", "y", "z", "u", "v"}
	one := func(q *queue.Queue, s *graph.Scope) tfbridge.Output {
		if s.Err() != nil {
			return tfbridge.Output{}
		}
		return q.Dequeue(s)[0]
	}
	slice := func(p *pipelines, o *train.ProducerOptions, i int) tfbridge.Output {
		first := graph.Subscript(p.Scope, p.matrix(), graph.Whole(), graph.At(0))
		slices := train.SliceInputProducer(p.Scope, []tfbridge.Output{p.matrix(), first}, o)
		if p.Err() != nil {
			return tfbridge.Output{}
		}
		return slices[i]
	}
	return []parityCase{
		{name: "string_input_producer", build: func(p *pipelines) tfbridge.Output {
			return one(train.StringInputProducer(p.Scope, p.Const(words[:3]), inOrder()), p.Scope)
		}},
		{name: "string_input_producer, seed", build: func(p *pipelines) tfbridge.Output {
			return one(train.StringInputProducer(p.Scope, p.Const(words), seed(7, 3)), p.Scope)
		}},
		{name: "range_input_producer", build: func(p *pipelines) tfbridge.Output {
			return one(train.RangeInputProducer(p.Scope, p.Const(int32(4)), inOrder()), p.Scope)
		}},
		{name: "range_input_producer, seed", build: func(p *pipelines) tfbridge.Output {
			o := seed(3, 2)
			o.Capacity = 4
			return one(train.RangeInputProducer(p.Scope, p.Const(int32(9)), o), p.Scope)
		}},
		{name: "input_producer", build: func(p *pipelines) tfbridge.Output {
			return one(train.InputProducer(p.Scope, p.matrix(), &train.InputProducerOptions{ProducerOptions: *inOrder()}), p.Scope)
		}},
		{name: "input_producer, seed", build: func(p *pipelines) tfbridge.Output {
			return one(train.InputProducer(p.Scope, p.matrix(), &train.InputProducerOptions{ProducerOptions: *seed(11, 2)}), p.Scope)
		}},
		{name: "slice_input_producer", build: func(p *pipelines) tfbridge.Output { return slice(p, inOrder(), 0) }},
		{name: "slice_input_producer, seed", build: func(p *pipelines) tfbridge.Output { return slice(p, seed(5, 2), 1) }},
		{name: "limit_epochs", build: func(p *pipelines) tfbridge.Output { return train.LimitEpochs(p.Scope, p.Const("x"), 3) }},
		{name: "match_filenames_once", build: func(p *pipelines) tfbridge.Output {
			files := train.MatchFilenamesOnce(p.Scope, p.Const(filepath.Join(p.folder, "[a-c]")))
			path := one(train.StringInputProducer(p.Scope, files, inOrder()), p.Scope)
			return p.Op1("Substr", nil, path, p.Const(int32(-1)), p.Const(int32(1)))
		}},
	}
}

// batchCases are the batching functions with n goroutines.
func batchCases(n int) []parityCase {
	threads := fmt.Sprintf("%d threads", n)
	readers := fmt.Sprintf("%d readers", n)
	smaller := train.EnqueueOptions{AllowSmallerFinalBatch: true}
	shuffled := &train.ShuffleBatchOptions{Capacity: 20, MinAfterDequeue: 6, EnqueueOptions: smaller}
	threaded := &train.ShuffleBatchOptions{Capacity: 20, MinAfterDequeue: 6, EnqueueOptions: smaller, NumThreads: n}
	first := func(t train.Tensors) tfbridge.Output {
		if len(t.Dense) == 0 {
			return tfbridge.Output{}
		}
		return t.Dense[0]
	}
	keepAll := func(p *pipelines) tfbridge.Output {
		return graph.Greater(p.Scope, p.Const(int32(1)), p.Const(int32(0)))
	}
	all := []parityCase{
		{name: "batch_join, " + readers, inOrder: n == 1, build: func(p *pipelines) tfbridge.Output {
			return first(train.BatchJoin(p.Scope, p.readers(n, 2, "a", "b", "c"), 5, &train.BatchOptions{EnqueueOptions: smaller}))
		}},
		{name: "shuffle_batch_join, " + readers, build: func(p *pipelines) tfbridge.Output {
			return first(train.ShuffleBatchJoin(p.Scope, p.readers(n, 2, "a", "b", "c"), 5, shuffled))
		}},
		{name: "maybe_batch, " + threads, inOrder: n == 1, build: func(p *pipelines) tfbridge.Output {
			v := p.values(2)
			return first(train.MaybeBatch(p.Scope, dense(v), p.even(v), 5, &train.BatchOptions{NumThreads: n, EnqueueOptions: smaller}))
		}},
		{name: "maybe_shuffle_batch, " + threads, build: func(p *pipelines) tfbridge.Output {
			v := p.values(2)
			return first(train.MaybeShuffleBatch(p.Scope, dense(v), p.even(v), 5, threaded))
		}},
		{name: "maybe_batch_join, " + readers, inOrder: n == 1, build: func(p *pipelines) tfbridge.Output {
			return first(train.MaybeBatchJoin(p.Scope, p.readers(n, 2, "a", "b", "c"), keepAll(p), 5, &train.BatchOptions{EnqueueOptions: smaller}))
		}},
		{name: "maybe_shuffle_batch_join, " + readers, build: func(p *pipelines) tfbridge.Output {
			return first(train.MaybeShuffleBatchJoin(p.Scope, p.readers(n, 2, "a", "b", "c"), keepAll(p), 5, shuffled))
		}},
		{name: "batch, enqueue_many, " + threads, inOrder: n == 1, build: func(p *pipelines) tfbridge.Output {
			many := train.EnqueueOptions{EnqueueMany: true, AllowSmallerFinalBatch: true}
			return first(train.Batch(p.Scope, dense(p.letters(p.values(1))), 7, &train.BatchOptions{NumThreads: n, EnqueueOptions: many}))
		}},
		{name: "maybe_batch, enqueue_many, " + threads, inOrder: n == 1, build: func(p *pipelines) tfbridge.Output {
			many := train.EnqueueOptions{EnqueueMany: true, AllowSmallerFinalBatch: true, Shapes: []tfbridge.Shape{tfbridge.ScalarShape()}}
			rows := p.letters(p.values(1))
			keep := graph.Greater(p.Scope, rows, p.Const(uint8('9')))
			return first(train.MaybeBatch(p.Scope, dense(rows), keep, 7, &train.BatchOptions{NumThreads: n, EnqueueOptions: many}))
		}},
	}
	for name, o := range map[string]train.EnqueueOptions{"False": {}, "True": smaller} {
		all = append(all, parityCase{name: "batch, " + threads + ", smaller final " + name, inOrder: n == 1, build: func(p *pipelines) tfbridge.Output {
			return first(train.Batch(p.Scope, dense(p.values(2)), 5, &train.BatchOptions{NumThreads: n, EnqueueOptions: o}))
		}}, parityCase{name: "shuffle_batch, " + threads + ", smaller final " + name, partial: name == "False", build: func(p *pipelines) tfbridge.Output {
			options := &train.ShuffleBatchOptions{NumThreads: n, Capacity: 20, MinAfterDequeue: 6, EnqueueOptions: o}
			return first(train.ShuffleBatch(p.Scope, dense(p.values(2)), 5, options))
		}})
	}
	for i := range all {
		if strings.HasPrefix(all[i].name, "batch, 4 threads, smaller final False") {
			all[i].partial = true // the remaining examples depend on timing
		}
	}
	return all
}

func otherCases() []parityCase {
	number := func(p *pipelines, n int32) tfbridge.Output {
		q := train.RangeInputProducer(p.Scope, p.Const(n), &train.ProducerOptions{NumEpochs: 1, InOrder: true})
		if p.Err() != nil {
			return tfbridge.Output{}
		}
		return q.Dequeue(p.Scope)[0]
	}
	smaller := train.EnqueueOptions{AllowSmallerFinalBatch: true}
	return []parityCase{
		{name: "batch, dynamic_pad", inOrder: true, build: func(p *pipelines) tfbridge.Output {
			n := number(p, 6)
			dims := graph.Pack(p.Scope, []tfbridge.Output{n, p.Const(int32(2))}, 0)
			o := &train.BatchOptions{DynamicPad: true, EnqueueOptions: smaller}
			return train.Batch(p.Scope, dense(p.Op1("Fill", nil, dims, n)), 4, o).Dense[0]
		}},
		{name: "batch, sparse", inOrder: true, build: func(p *pipelines) tfbridge.Output {
			return p.sparseRows(train.Batch(p.Scope, p.sparse(number(p, 5), false), 2, &train.BatchOptions{EnqueueOptions: smaller}))
		}},
		{name: "batch, sparse, enqueue_many", inOrder: true, build: func(p *pipelines) tfbridge.Output {
			o := &train.BatchOptions{EnqueueOptions: train.EnqueueOptions{EnqueueMany: true, AllowSmallerFinalBatch: true}}
			return p.sparseRows(train.Batch(p.Scope, p.sparse(number(p, 4), true), 3, o))
		}},
	}
}

func errorCases() []parityCase {
	smaller := train.EnqueueOptions{AllowSmallerFinalBatch: true}
	return []parityCase{
		{name: "error: no strings", build: func(p *pipelines) tfbridge.Output {
			files := train.MatchFilenamesOnce(p.Scope, p.Const(filepath.Join(p.folder, "none*")))
			return train.StringInputProducer(p.Scope, files, nil).Dequeue(p.Scope)[0]
		}},
		{name: "error: damaged record", inOrder: true, build: func(p *pipelines) tfbridge.Output {
			return train.Batch(p.Scope, dense(p.values(1, "a", "damaged")), 100, &train.BatchOptions{EnqueueOptions: smaller}).Dense[0]
		}},
		{name: "error: damaged record, 4 readers", partial: true, build: func(p *pipelines) tfbridge.Output {
			o := &train.ShuffleBatchOptions{Capacity: 300, MinAfterDequeue: 100, EnqueueOptions: smaller}
			return train.ShuffleBatchJoin(p.Scope, p.readers(4, 2, "a", "b", "damaged", "c"), 100, o).Dense[0]
		}},
		{name: "error: missing file", build: func(p *pipelines) tfbridge.Output {
			return train.Batch(p.Scope, dense(p.values(1, "missing")), 5, nil).Dense[0]
		}},
		{name: "error: uninitialized", bare: true, build: func(p *pipelines) tfbridge.Output {
			return train.StringInputProducer(p.Scope, p.Const([]string{"x"}), &train.ProducerOptions{NumEpochs: 1}).Dequeue(p.Scope)[0]
		}},
		{name: "error: a cast fails", build: func(p *pipelines) tfbridge.Output {
			return train.Batch(p.Scope, dense(p.Op1("StringToNumber", nil, p.values(1))), 5, nil).Dense[0]
		}},
	}
}

// writeParityFiles writes the files of record.py.
func writeParityFiles(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, count := range map[string]int{"a": 5, "b": 3, "c": 4} {
		var records [][]byte
		for i := range count {
			records = append(records, fmt.Appendf(nil, "%s%d", name, i))
		}
		writeRecords(t, filepath.Join(folder, name), records...)
	}
	data, err := os.ReadFile(filepath.Join(folder, "a"))
	if err != nil {
		t.Fatal(err)
	}
	const record = 12 + 2 + 4 // header, data, checksum
	data[2*record+12] ^= 1
	if err := os.WriteFile(filepath.Join(folder, "damaged"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// writeRecords writes a TFRecord file.
func writeRecords(t testing.TB, path string, records ...[]byte) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tfrecord.NewWriter(f, tfrecord.None)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// runParity runs a pipeline to the end of the data.
func runParity(t *testing.T, c parityCase, folder string) recorded {
	t.Helper()
	s := graphtest.NewScope(t)
	out := c.build(&pipelines{s, folder})
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if first := s.Initializers(); len(first) > 0 && !c.bare {
		if _, err := session.Run(nil, nil, first); err != nil {
			t.Fatal(err)
		}
	}
	coordinator := train.NewCoordinator(t.Context(), nil)
	if err := train.StartQueueRunners(coordinator, session, s); err != nil {
		t.Fatal(err)
	}
	var got recorded
	for {
		value, err := fetch(t, session, out)
		if err != nil {
			got.End = codeOf(err)
			break
		}
		got.Batches = append(got.Batches, rowTexts(value, strings.Contains(out.Op.Name(), "batch") || strings.Contains(out.Op.Name(), "Concat")))
	}
	coordinator.RequestStop(nil)
	got.Join = codeOf(coordinator.Join())
	return got
}

// codeOf returns TensorFlow's code of an error.
func codeOf(err error) tfbridge.Code {
	var code tfbridge.Code
	errors.As(err, &code)
	return code
}

// rowTexts returns the rows of a value as record.py writes them.
func rowTexts(value any, batch bool) []string {
	flat := func(v any) string { return strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprint(v)) }
	if !batch {
		return []string{flat(value)}
	}
	var rows []string
	switch v := value.(type) {
	case []string:
		return v
	case []uint8:
		for _, x := range v {
			rows = append(rows, flat(x))
		}
	case [][]int64:
		for _, x := range v {
			rows = append(rows, flat(x))
		}
	case [][][]int32:
		for _, x := range v {
			rows = append(rows, flat(x))
		}
	default:
		rows = append(rows, flat(v))
	}
	return rows
}

// Every function gives the same results as in Python, from the same files: the same
// elements per epoch, the same order where a single goroutine defines it, and the same
// codes.
func TestParity(t *testing.T) {
	text, err := os.ReadFile("testdata/parity/train.json")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]recorded{}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	folder := writeParityFiles(t)
	producers := producerCases()
	for i := range producers {
		producers[i].inOrder = true // one goroutine, and a seed where it shuffles
	}
	all := slices.Concat(producers, batchCases(1), batchCases(4), otherCases(), errorCases())
	if len(all) != len(want) {
		t.Errorf("%d cases, record.py has %d", len(all), len(want))
	}
	table := newParityTable()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			python, ok := want[c.name]
			if !ok {
				t.Fatal("record.py has no such case")
			}
			got := runParity(t, c, folder)
			table.add(c, python, got)
			compareParity(t, c, got, python)
		})
	}
	table.check(t)
}

// compareParity compares Go's result with Python's.
func compareParity(t *testing.T, c parityCase, got, want recorded) {
	t.Helper()
	if got.End != want.End || got.Join != want.Join {
		t.Errorf("ends with code %v, Join with %v; in Python with %v and %v", got.End, got.Join, want.End, want.Join)
	}
	gotRows, wantRows := got.rows(), want.rows()
	switch {
	case c.inOrder && !slices.EqualFunc(got.Batches, want.Batches, slices.Equal):
		t.Errorf("got  %q\nPython %q", got.Batches, want.Batches)
	case !c.partial && !slices.Equal(slices.Sorted(slices.Values(gotRows)), slices.Sorted(slices.Values(wantRows))):
		t.Errorf("rows %q\nPython %q", gotRows, wantRows)
	case c.partial && c.name[0] != 'e' && !slices.Equal(got.sizes(), want.sizes()), !c.partial && !slices.Equal(got.sizes(), want.sizes()):
		t.Errorf("batches of %v rows, in Python of %v", got.sizes(), want.sizes())
	}
}
