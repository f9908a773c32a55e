package loaders_test

import (
	"maps"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"

	"github.com/google/go-cmp/cmp"
)

// TestMeasuresOfExamples measures tensors of Examples, which are not parsed in the same
// way as SequenceExamples.
func TestMeasuresOfExamples(t *testing.T) {
	testruntime.Need(t)
	for kind, args := range map[string]fixture.Object{
		"":                    {"target_batch_size": 6},
		"continuous_sequence": {"min_window": 2, "max_window": 2, "target_batch_size": 6},
		"discrete_sequence":   {"min_window": 1, "max_window": 1, "target_batch_size": 6},
	} {
		t.Run(kind, func(t *testing.T) {
			f := fixture.New(t)
			f.Type = kind
			maps.Copy(f.Args, args)
			f.Args["primary_features"] = []fixture.Object{{"from_name": "xs", "to_name": "xs"}}
			f.Args["padding"] = []fixture.Object{{"tensor": "xs", "shape": []int{3}}}
			f.Args["secondary_features"] = []fixture.Object{
				{"to_name": "n", "type": "lengths", "args": fixture.Object{"tensor": "xs"}},
				{"to_name": "has", "type": "mask", "args": fixture.Object{"tensor": "xs"}},
			}
			f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 6)...)
			for b, err := range openSequence(t, f).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(slices.Repeat([]int64{2}, 6), column[int64](t, b, "n")); diff != "" {
					t.Errorf("lengths (-want +got)\n%s", diff)
				}
				if diff := cmp.Diff(slices.Repeat([]bool{true, true, false}, 6), column[bool](t, b, "has")); diff != "" {
					t.Errorf("mask (-want +got)\n%s", diff)
				}
			}
		})
	}
}
