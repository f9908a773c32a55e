package graph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/internal/test/graphtest"
)

// AddNoise gives the values of x + tf.random.stateless_truncated_normal(x.shape,
// seed=[3, 4], stddev=0.5, dtype=x.dtype) in Python, recorded with TensorFlow 2.21.
func TestAddNoise(t *testing.T) {
	s := graphtest.NewScope(t)
	seed := s.Const([]int64{3, 4})
	got := run(t, s,
		graph.AddNoise(s, s.Const([][]float32{{1, 2, 3}, {4, 5, 6}}), seed, 0.5),
		graph.AddNoise(s, s.Const([][]float64{{1, 2, 3}, {4, 5, 6}}), seed, 0.5))
	want := []any{
		[][]float32{{0.9130330681800842, 2.836177349090576, 3.1740851402282715}, {3.148054599761963, 5.3192596435546875, 5.345037460327148}},
		[][]float64{{0.8344577201422276, 2.013906199832491, 2.8286691064244622}, {4.37760282424701, 4.708859105490083, 5.780684299409611}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
	graph.AddNoise(s, s.Const([]int32{1}), seed, 0.5)
	if s.Err() == nil {
		t.Error("noise for integers was accepted")
	}
}
