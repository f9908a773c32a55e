package dataset_test

import (
	"fmt"
	"iter"
	"testing"

	"millrace/graph/dataset"
)

// benchSeq reads b.N elements of an endless sequence in batches of n.
func benchSeq[T any](b *testing.B, seq iter.Seq2[T, error], n int64, o *dataset.SeqOptions) {
	s := newScope(b)
	d := dataset.FromSeq(s, seq, o)
	if o == nil || o.Batch == 0 {
		d = d.Batch(n, true)
	}
	b.ReportAllocs()
	read := int64(0)
	next, stop := iter.Pull2(d.All(b.Context(), nil))
	defer stop()
	for b.Loop() {
		if read%n == 0 {
			if _, err, _ := next(); err != nil {
				b.Fatal(err)
			}
		}
		read++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "elements/s")
}

func endless[T any](v T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for yield(v, nil) {
		}
	}
}

func BenchmarkFromSeq(b *testing.B) {
	for _, direct := range []bool{false, true} {
		o := &dataset.SeqOptions{}
		if direct {
			o.Batch = 128
		}
		b.Run(fmt.Sprintf("int64/direct=%v", direct), func(b *testing.B) { benchSeq(b, endless(int64(1)), 128, o) })
		b.Run(fmt.Sprintf("float32x128/direct=%v", direct), func(b *testing.B) { benchSeq(b, endless([128]float32{}), 128, o) })
		b.Run(fmt.Sprintf("string/direct=%v", direct), func(b *testing.B) { benchSeq(b, endless("a line of text"), 128, o) })
	}
}
