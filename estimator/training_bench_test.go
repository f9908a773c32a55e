package estimator_test

import (
	"testing"
	"time"

	"millrace/estimator"
	"millrace/internal/test/fixture"
)

// BenchmarkTrain trains with and without checkpoints. The difference of their times,
// 500 times, is what a checkpoint costs a run; held-ns is the part of it in which no
// step can run.
func BenchmarkTrain(b *testing.B) {
	d := fixture.Points(b, 20, fixture.Shuffled())
	for name, every := range map[string]int64{"none": 1 << 40, "every=500": 500} {
		b.Run(name, func(b *testing.B) {
			var held time.Duration
			checkpoints := 0
			o := &estimator.TrainOptions{Steps: int64(b.N), CheckpointEvery: every}
			o.Hooks.Saved = func(s *estimator.Saved) error {
				held, checkpoints = held+s.Held, checkpoints+1
				return nil
			}
			r, err := estimator.Train(b.Context(), loadClassifier(b), source(b, d), b.TempDir(), o)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(r.InputWait.Nanoseconds())/float64(r.Steps), "wait-ns/op")
			b.ReportMetric(float64(r.Duration.Nanoseconds())/float64(r.Steps), "step-ns/op")
			b.ReportMetric(float64(held.Nanoseconds())/float64(checkpoints), "held-ns")
		})
	}
}
