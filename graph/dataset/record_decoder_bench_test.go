package dataset_test

import (
	"fmt"
	"math"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
)

// BenchmarkDecodeRecords measures the cost of a record that Go decodes, alone and in
// batches. The function does little, so this is the cost of the call.
func BenchmarkDecodeRecords(b *testing.B) {
	decoder, err := dataset.NewRecordDecoder(decodePair, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, batch := range []int64{1, 16, 256, 4096} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			r := start(b, func(s *graph.Scope) *dataset.Dataset {
				records := dataset.FromTensors(s, s.Const(encodePairs(pair{1, 2})[0])).Repeat(math.MaxInt64).Batch(batch, true)
				return records.Take(1).Cache("").Repeat(math.MaxInt64).DecodeRecords(decoder, nil)
			})
			b.ReportAllocs()
			for range b.N {
				r.next(1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(int64(b.N)*batch), "ns/record")
		})
	}
}
