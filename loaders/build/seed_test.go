package build_test

import (
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// firstNumbers returns the first number of each row that a dataset gives.
func firstNumbers(t *testing.T, d *fixture.Dataset, native bool) (all []int32) {
	t.Helper()
	l, err := loaders.OpenPlan(checked(t, d, native), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		pos := b.Tensor("pos")
		values, err := tfbridge.View[int32](pos)
		if err != nil {
			t.Fatal(err)
		}
		for row := range pos.Shape()[0] {
			all = append(all, values[row*pos.Shape()[1]])
		}
	}
	return all
}

// A seed gives the same order, and windows of the same sizes, in every version, because
// a repeated or resumed run depends on it. Epochs differ.
func TestSeedsKeepTheirOrder(t *testing.T) {
	testruntime.Need(t)
	shuffled := func(more fixture.Object) fixture.Object {
		args := fixture.Object{
			"shuffle": true, "num_shuffle_buffer_elements": 20, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2, "epochs": 2, "seed": 7, "padding": true,
		}
		for key, value := range more {
			args[key] = value
		}
		return args
	}
	files := [][]int{{1, 2, 1, 3}, {2, 2}, {1, 4, 1}}
	for _, tt := range []struct {
		name, kind string
		args       fixture.Object
		want       []int32
	}{
		{"records", "independent", shuffled(nil), []int32{3, 4, 7, 11, 16, 12, 9, 0, 1, 12, 4, 9, 11, 16, 1, 3, 7, 0}},
		{"windows", "continuous_sequence", shuffled(fixture.Object{"min_window": 1, "max_window": 3}), []int32{5, 6, 7, 11, 16, 14, 8, 0, 2, 13, 5, 10, 11, 15, 1, 4, 7, 0}},
		{"chunks", "chunked_sequence", fixture.Object{
			"batch_size": 4, "chunk_size": 2, "seq_ordering": "random", "shuffle_seqs": 4, "shuffle_chunks": 5, "epochs": 2, "seed": 7,
		}, []int32{7, 11, 14, 0, 9, 1, 3, 12, 16, 6, 4, 6, 7, 16, 3, 1, 9, 11, 0, 12, 4, 14}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newLists(t, tt.kind, tt.args, files...)
			for _, native := range []bool{false, true} {
				if diff := cmp.Diff(tt.want, firstNumbers(t, d, native)); diff != "" {
					t.Errorf("native %v (-want +got)\n%s", native, diff)
				}
			}
		})
	}
}
