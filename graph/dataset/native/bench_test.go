package native_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// benchmarkRecords is the number of Examples that the benchmark below reads. Each has
// 64 floats and an int64.
const benchmarkRecords = 100_000

func benchmarkFile(b *testing.B) string {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	records := make([][]byte, benchmarkRecords)
	for i := range records {
		x := make([]float32, 64)
		for k := range x {
			x[k] = r.Float32()
		}
		records[i] = example.Marshal([]example.Named{
			{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: x}},
			{Name: "y", Feature: example.Feature{Kind: example.Int64, Ints: []int64{int64(i)}}},
		})
	}
	return writeFile(b, corrupt.Frame(records...))
}

// BenchmarkExamples reads a file of Examples in batches with TensorFlow's operations
// and with ours.
func BenchmarkExamples(b *testing.B) {
	needLibrary(b)
	path := benchmarkFile(b)
	features := []native.Feature{
		{Key: "x", Kind: native.Float, Shape: []int64{64}},
		{Key: "y", Kind: native.Int},
	}
	general := &graph.ExampleFeatures{Dense: []graph.DenseFeature{
		{Key: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(64)},
		{Key: "y", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
	}}
	for _, n := range []int64{128, 1024} {
		ways := map[string]func(*graph.Scope) *dataset.Dataset{
			"general": func(s *graph.Scope) *dataset.Dataset {
				return dataset.TFRecords(s, s.Const([]string{path}), nil).Batch(n, false).ParseExample(general, nil)
			},
			"parse": func(s *graph.Scope) *dataset.Dataset {
				return native.Parse(dataset.TFRecords(s, s.Const([]string{path}), nil), n, features, nil)
			},
			"native": func(s *graph.Scope) *dataset.Dataset {
				o := &native.ExamplesOptions{BatchSize: n, Epochs: 1}
				return native.Examples(s, s.Const([]string{path}), s.Const([]int64{benchmarkRecords}), features, o)
			},
		}
		for _, way := range []string{"general", "parse", "native"} {
			b.Run(fmt.Sprintf("%s/batch=%d", way, n), func(b *testing.B) {
				s := graph.NewScope()
				defer s.Graph().Close()
				pass(b, ways[way](s).Prefetch(4))
				b.ReportMetric(benchmarkRecords*float64(b.N)/b.Elapsed().Seconds(), "records/s")
			})
		}
	}
}

// pass reads a dataset to its end, in every iteration of the benchmark.
func pass(b *testing.B, d *dataset.Dataset) {
	it := d.Iterator("it")
	inline := it.NextInline()
	sess, err := tfbridge.NewSession(d.Scope().Graph(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer sess.Close()
	next, err := sess.Prepare(nil, inline, nil)
	if err != nil {
		b.Fatal(err)
	}
	next.Inline() // uses only this thread and the threads of the dataset
	for b.Loop() {
		if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
			b.Fatal(err)
		}
		for err == nil {
			var element []*tfbridge.Tensor
			element, err = next.Run(b.Context(), nil)
			for _, x := range element {
				x.Close()
			}
		}
		if !errors.Is(err, tfbridge.OutOfRange) {
			b.Fatal(err)
		}
		err = nil
	}
}

// The file of the benchmark below: a sequence of 64 MiB of floats.
const (
	benchmarkRow     = 16   // floats per position
	benchmarkPerRec  = 1024 // positions per record
	benchmarkSeqRecs = 1024
	benchmarkWindow  = 1000 // positions per window
	benchmarkBatch   = 64
	benchmarkEpochs  = 8 // enough that the start hardly counts
)

// BenchmarkWindows cuts consecutive windows, and copies them from memory for
// comparison.
func BenchmarkWindows(b *testing.B) {
	needLibrary(b)
	floats := make([]float32, benchmarkPerRec*benchmarkRow)
	for i := range floats {
		floats[i] = float32(i)
	}
	record := example.Marshal([]example.Named{{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: floats}}})
	records := make([][]byte, benchmarkSeqRecs)
	for i := range records {
		records[i] = record
	}
	names := []string{writeFile(b, corrupt.Frame(records...))}
	total := int64(4 * len(floats) * benchmarkSeqRecs)
	b.Run("copy", func(b *testing.B) {
		const window = 4 * benchmarkRow * benchmarkWindow
		from := bytes.Repeat([]byte{1}, int(total))
		to := [4][]byte{}
		for i := range to {
			to[i] = make([]byte, benchmarkBatch*window)
		}
		b.SetBytes(total)
		for b.Loop() {
			for at := 0; at+window <= len(from); at += window {
				k := at / window
				copy(to[k/benchmarkBatch%4][k%benchmarkBatch*window:][:window], from[at:])
			}
		}
	})
	for _, size := range []int64{benchmarkBatch, 0} {
		b.Run(fmt.Sprintf("native/batch=%d", size), func(b *testing.B) {
			s := graph.NewScope()
			defer s.Graph().Close()
			features := []native.Feature{{Key: "x", Kind: native.Float, Shape: []int64{benchmarkPerRec, benchmarkRow}}}
			o := &native.WindowsOptions{Min: benchmarkWindow, Max: benchmarkWindow, BatchSize: size, Epochs: benchmarkEpochs}
			b.SetBytes(total * benchmarkEpochs)
			pass(b, native.Windows(s, s.Const(names), s.Const([]int64{benchmarkSeqRecs}), features, o))
		})
	}
}
