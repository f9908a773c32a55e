package loaders_test

import (
	"maps"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// bucketData has records of lengths from 0 to 12 in mixed order.
var bucketData = [][]int{{3, 9, 0, 12, 4, 5, 1, 7, 2, 10, 3, 8}, {11, 6, 2, 4, 1, 1, 9}}

// bucketDataset returns a dataset with lengths and buckets over bucketData.
func bucketDataset(t testing.TB, kind string, args fixture.Object) *fixture.Dataset {
	f := newSequence(t, kind, newSequenceData(bucketData))
	maps.Copy(f.Args, fixture.Object{
		"target_batch_size": 3, "padding": []fixture.Object{{"tensor": "pos", "value": -1}}, "seed": 5,
		"secondary_features": []fixture.Object{{"to_name": "n", "type": "lengths", "args": fixture.Object{"tensor": "pos"}}},
	})
	maps.Copy(f.Args, args)
	return f
}

// readLengths returns the lengths in every batch, and checks them.
func readLengths(t testing.TB, f *fixture.Dataset) (batches [][]int64) {
	t.Helper()
	for b, err := range openSequence(t, f).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n := slices.Clone(b.Tensor("n").Value().([]int64))
		if got := b.Tensor("pos").Shape()[1]; got != slices.Max(n) {
			t.Errorf("lengths %v are padded to %d", n, got)
		}
		batches = append(batches, n)
	}
	return batches
}

func TestBuckets(t *testing.T) {
	testruntime.Need(t)
	bounds := fixture.Object{"tensor": "pos", "boundaries": []int{2, 5}}
	tests := []struct {
		name string
		args fixture.Object
		want [][]int64
	}{
		{"boundaries", fixture.Object{"bucket_by_length": bounds}, [][]int64{
			{3, 4, 5}, {9, 12, 7}, {0, 1, 2}, {10, 8, 11}, {2, 1, 1}, {3, 4}, {6, 9},
		}},
		{"drop remainder", fixture.Object{"bucket_by_length": bounds, "drop_remainder": true}, [][]int64{
			{3, 4, 5}, {9, 12, 7}, {0, 1, 2}, {10, 8, 11}, {2, 1, 1},
		}},
		// Limit of 10 elements: three examples of length up to 2 (the cap), two of up
		// to 5, one of up to 10 or 20.
		{"elements", fixture.Object{"bucket_by_length": bounds, "batch_by_elements": 10}, [][]int64{
			{9}, {12}, {3, 4}, {7}, {0, 1, 2}, {10}, {5, 3}, {8}, {11}, {6}, {2, 1, 1}, {9}, {4},
		}},
		{"elements, drop remainder", fixture.Object{"bucket_by_length": bounds, "batch_by_elements": 10, "drop_remainder": true}, [][]int64{
			{9}, {12}, {3, 4}, {7}, {0, 1, 2}, {10}, {5, 3}, {8}, {11}, {6}, {2, 1, 1}, {9},
		}},
		{"after a step", fixture.Object{
			"bucket_by_length": fixture.Object{"tensor": "pos", "boundaries": []int{0}}, "target_batch_size": 20,
			"processing_steps": []fixture.Object{{"tensor": "pos", "type": "slice", "args": fixture.Object{"slice": "10:"}}},
		}, [][]int64{slices.Repeat([]int64{0}, 17), {2, 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readLengths(t, bucketDataset(t, "", tt.args))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lengths (-want +got)\n%s", diff)
			}
		})
	}
}

// TestBucketsKeepEverything checks that windows of every kind are the same
// with buckets as without, over two epochs, and within a share of padding.
func TestBucketsKeepEverything(t *testing.T) {
	testruntime.Need(t)
	bucket := fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "max_waste": 0.25}}
	tests := map[string]fixture.Object{
		"":                    {},
		"continuous_sequence": {"min_window": 1, "max_window": 9, "stride": 2},
		"discrete_sequence":   {"min_window": 1, "max_window": 3},
	}
	for kind, window := range tests {
		t.Run(kind, func(t *testing.T) {
			window["epochs"] = 2
			plain := slices.Concat(readLengths(t, bucketDataset(t, kind, window))...)
			maps.Copy(window, bucket)
			f := bucketDataset(t, kind, window)
			var got []int64
			for _, lengths := range readLengths(t, f) {
				got = append(got, lengths...)
				if most := slices.Max(lengths); float64(most-slices.Min(lengths)) > 0.25*float64(most) {
					t.Errorf("lengths %v share a batch", lengths)
				}
			}
			slices.Sort(plain)
			slices.Sort(got)
			if diff := cmp.Diff(plain, got); diff != "" {
				t.Errorf("lengths without and with buckets (-without +with)\n%s", diff)
			}
		})
	}
}

// TestBucketsGoOn resumes from the state of every batch.
func TestBucketsGoOn(t *testing.T) {
	testruntime.Need(t)
	for kind, args := range map[string]fixture.Object{
		"":                    {},
		"continuous_sequence": {"min_window": 1, "max_window": 9},
	} {
		t.Run(kind, func(t *testing.T) {
			f := bucketDataset(t, kind, args)
			shuffled(f)
			f.Args["bucket_by_length"] = fixture.Object{"tensor": "pos", "boundaries": []int{2, 5}}
			first, second := openSequence(t, f), openSequence(t, f)
			var want []string
			var states [][]byte
			for b, err := range first.Run(t.Context(), &loaders.RunOptions{SaveEvery: 1}) {
				if err != nil {
					t.Fatal(err)
				}
				want, states = append(want, textOf(t, b)), append(states, b.State())
			}
			for i := 0; i < len(states); i += 3 {
				var got []string
				for b, err := range second.Run(t.Context(), &loaders.RunOptions{State: states[i]}) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, textOf(t, b))
				}
				if diff := cmp.Diff(want[i+1:], got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("after batch %d (-want +got)\n%s", i, diff)
				}
			}
		})
	}
}
