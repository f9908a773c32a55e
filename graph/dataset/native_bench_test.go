package dataset_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/corrupt"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// benchmarkRecords are how many Examples the benchmark below reads: of 64
// floats and an int64 each.
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

// BenchmarkExamples reads a file of Examples in batches with TensorFlow's own
// operations and with ours.
func BenchmarkExamples(b *testing.B) {
	needNative(b)
	path := benchmarkFile(b)
	features := []dataset.NativeFeature{
		{Key: "x", Kind: dataset.NativeFloat, Shape: []int64{64}},
		{Key: "y", Kind: dataset.NativeInt},
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
				return dataset.TFRecords(s, s.Const([]string{path}), nil).NativeParse(n, features, false)
			},
			"native": func(s *graph.Scope) *dataset.Dataset {
				o := &dataset.NativeExamplesOptions{BatchSize: n, Epochs: 1}
				return dataset.NativeExamples(s, s.Const([]string{path}), s.Const([]int64{benchmarkRecords}), features, o)
			},
		}
		for _, way := range []string{"general", "parse", "native"} {
			b.Run(fmt.Sprintf("%s/batch=%d", way, n), func(b *testing.B) {
				s := graph.NewScope()
				defer s.Graph().Close()
				pass(b, ways[way](s).Prefetch(4))
			})
		}
	}
}

// pass reads a dataset to its end, in every iteration of the benchmark.
func pass(b *testing.B, d *dataset.Dataset) {
	it := d.Iterator("it")
	sess, err := tfbridge.NewSession(d.Scope().Graph(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer sess.Close()
	next, err := sess.Prepare(nil, it.Next, nil)
	if err != nil {
		b.Fatal(err)
	}
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
	b.ReportMetric(float64(benchmarkRecords)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
