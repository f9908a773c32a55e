package graph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Models as others write them load, with their values.
func TestForeignModels(t *testing.T) {
	const tanh6 = float32(0.9999877)
	tests := []struct {
		model  string
		inputs map[string]any
		want   map[string]any
	}{
		{"vocab_v1", map[string]any{"word": []string{"wheel", "pond", "mill"}}, map[string]any{"id": []int64{6, -2, 0}}},
		{"stablehlo", map[string]any{"x": [][]float32{{1, 2, 3}, {-1, -2, -3}}},
			map[string]any{"y": [][]float32{{tanh6, tanh6}, {-tanh6, -tanh6}}}},
	}
	for _, tt := range tests {
		t.Run(tt.model, func(t *testing.T) {
			got, err := call(t, load(t, tt.model, nil), "", tt.inputs)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-6)); err != nil || diff != "" {
				t.Errorf("%v, (-want +got):\n%s", err, diff)
			}
		})
	}
}
