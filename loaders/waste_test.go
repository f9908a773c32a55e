package loaders_test

import (
	"maps"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestWaste counts the padding of batches of every type by hand.
func TestWaste(t *testing.T) {
	testruntime.Need(t)
	data := newSequenceData([][]int{{4, 1, 3, 2, 2, 2}})
	tests := []struct {
		name string
		kind string
		args fixture.Object
		want []loaders.TensorWaste
	}{
		// Batches of lengths 4, 1, 3 and 2, 2, 2; pair is padded from 2 to 4 columns.
		{"independent", "", nil, []loaders.TensorWaste{{Tensor: "pair", Share: 1 - 28./72}, {Tensor: "pos", Share: 1 - 14./18}}},
		{"multiples", "continuous_sequence", fixture.Object{"min_window": 7, "max_window": 7},
			[]loaders.TensorWaste{{Tensor: "pair", Share: 0.5}, {Tensor: "pos"}}},
		{"discrete", "discrete_sequence", fixture.Object{"min_window": 2, "max_window": 2},
			[]loaders.TensorWaste{{Tensor: "pair", Share: 1 - 28./60}, {Tensor: "pos", Share: 1 - 14./15}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newSequence(t, tt.kind, data)
			f.Args["target_batch_size"] = 3
			f.Args["padding"] = []fixture.Object{{"tensor": "pair", "shape": []int{-1, 4}}}
			maps.Copy(f.Args, tt.args)
			f.Save(t)
			plan, problems := loaders.Check(f.Config(), nil)
			if plan == nil {
				t.Fatal(problems)
			}
			measuring, waste := loaders.MeasurePadding(plan)
			l, err := loaders.OpenPlan(measuring, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for b, err := range l.Batches(t.Context()) {
				if err == nil {
					err = waste.Add(b)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, waste.Tensors(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("waste (-want +got)\n%s", diff)
			}
		})
	}
}
