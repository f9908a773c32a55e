package estimator_test

import (
	"testing"

	"millrace/estimator"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// A step of a model without arithmetic measures the overhead of a step.
func BenchmarkStep(b *testing.B) {
	m, err := estimator.LoadModel(modelDir("constant"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	pipe, err := m.Join(b.Context(), estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 1<<40, 1).Map("x", func(s *graph.Scope, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{s.Const(make([]float32, 128))}
		}, nil)
	}, "x"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, err := range pipe.Run(b.Context(), &estimator.RunOptions{Steps: int64(b.N)}) {
		if err != nil {
			b.Fatal(err)
		}
	}
}
