package loaders_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"
)

// BenchmarkWindows reads windows of one float a position from records of
// 10,000. Python's unbatch, window and batch on the same machine reads about a
// million samples a second.
func BenchmarkWindows(b *testing.B) {
	testruntime.Need(b)
	const records, length = 1000, 10_000
	values := make([]float32, length)
	var data [][]byte
	for i := range records {
		for j := range values {
			values[j] = float32(i) + float32(j)/length
		}
		data = append(data, example.Marshal([]example.Named{{Name: "x", Feature: fixture.Floats(values...)}}))
	}
	for _, size := range []int64{100, 10_000} {
		for _, w := range []window{
			{min: size, max: size}, {min: size / 2, max: size + size/2}, {min: size, max: size, stride: size / 2},
		} {
			name := fmt.Sprintf("min=%d/max=%d/stride=%d", w.min, w.max, w.stride)
			b.Run(name, func(b *testing.B) {
				w.tail = "keep"
				f := fixture.New(b)
				f.Type = "continuous_sequence"
				f.Manifest["features"] = []fixture.Object{
					{"name": "x", "dtype": "float32", "shape": []int{length}, "deserialize_type": "float"},
				}
				f.Args["primary_features"] = []fixture.Object{{"from_name": "x", "to_name": "x"}}
				f.Args["target_batch_size"], f.Args["padding"] = 32, true
				w.set(f)
				f.WriteRecords(b, "a.tfrecords", data...)
				l := openSequence(b, f)
				b.ReportAllocs()
				samples := int64(0)
				for b.Loop() {
					for batch, err := range l.Batches(b.Context()) {
						if err != nil {
							b.Fatal(err)
						}
						samples += batch.Rows() * (w.min + w.max) / 2
					}
				}
				b.ReportMetric(float64(samples)/1e6/b.Elapsed().Seconds(), "Msamples/s")
			})
		}
	}
}

// paddedLists is a dataset of 4,000 SequenceExamples: lists of 10 to 100 vectors and labels,
// in padded batches.
func paddedLists(b *testing.B) *fixture.Dataset {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var data [][]byte
	for range paddedRecords {
		var xs, labels []example.Feature
		for range 10 + r.IntN(91) {
			xs = append(xs, fixture.Floats(1, 2, 3, 4, 5, 6, 7, 8))
			labels = append(labels, fixture.Ints(7))
		}
		data = append(data, example.MarshalSequence(nil, []example.NamedList{
			{Name: "label", Features: labels}, {Name: "x", Features: xs},
		}))
	}
	f := fixture.New(b)
	f.Manifest["allow_var_len"] = true
	f.Manifest["features"] = []fixture.Object{
		{"name": "label", "dtype": "int64", "shape": []int{}, "deserialize_type": "int", "var_len": true},
		{"name": "x", "dtype": "float32", "shape": []int{8}, "deserialize_type": "float", "var_len": true},
	}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "label", "to_name": "label"}, {"from_name": "x", "to_name": "x"}}
	f.Args["target_batch_size"], f.Args["padding"], f.Args["num_parallel_parses"] = 64, true, 2
	f.WriteRecords(b, "a.tfrecords", data...)
	return f
}

// paddedRecords are how many records the benchmarks of lists read.
const paddedRecords = 4000

// benchmarkPasses reads a whole dataset in every iteration of a benchmark.
func benchmarkPasses(b *testing.B, l *loaders.Loader) {
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range l.Batches(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(paddedRecords*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkPaddedLists reads padded batches of SequenceExamples.
func BenchmarkPaddedLists(b *testing.B) {
	testruntime.Need(b)
	benchmarkPasses(b, openSequence(b, paddedLists(b)))
}

// BenchmarkBuckets reads the same with batches of similar length, with Millrace's own
// operations and with TensorFlow's.
func BenchmarkBuckets(b *testing.B) {
	testruntime.Need(b)
	f := paddedLists(b)
	f.Args["bucket_by_length"] = fixture.Object{"tensor": "x", "boundaries": []int{25, 50, 75}}
	for _, native := range []bool{true, false} {
		b.Run(fmt.Sprintf("native=%v", native), func(b *testing.B) {
			f.Save(b)
			plan, problems := loaders.Check(f.Config(), nil)
			if plan == nil {
				b.Fatal(problems)
			}
			if !native {
				plan.NativeLibrary = ""
			}
			benchmarkPasses(b, openPlan(b, plan))
		})
	}
}
