package loaders_test

import (
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// measuredDatasets are datasets of every type whose "pos" is padded with -1,
// with lengths and masks of it and of "pair".
func measuredDatasets(t *testing.T) map[string]*fixture.Dataset {
	data := newSequenceData([][]int{{3, 1, 9, 4, 4, 5}, {2, 2, 2, 2, 2, 2, 2}, {12, 1, 7}})
	datasets := map[string]*fixture.Dataset{"independent": newSequence(t, "", data)}
	for name, w := range map[string]window{
		"continuous":         {kind: "continuous_sequence", min: 1, max: 5},
		"continuous overlap": {kind: "continuous_sequence", min: 1, max: 5, stride: 2},
		"continuous equal":   {kind: "continuous_sequence", min: 3, max: 3},
		"discrete":           {kind: "discrete_sequence", min: 1, max: 3},
		"discrete equal":     {kind: "discrete_sequence", min: 2, max: 2},
	} {
		w.tail = "keep"
		datasets[name] = newSequence(t, w.kind, data)
		w.set(datasets[name])
	}
	mixed := newSequence(t, "continuous_sequence", data)
	window{min: 1, max: 5, tail: "keep"}.set(mixed)
	shuffled(mixed)
	datasets["continuous shuffled"] = mixed
	for _, f := range datasets {
		f.Args["target_batch_size"] = 4
		f.Args["padding"] = []fixture.Object{{"tensor": "pos", "value": -1}}
		f.Args["secondary_features"] = []fixture.Object{
			{"to_name": "n", "type": "lengths", "args": fixture.Object{"tensor": "pos"}},
			{"to_name": "two", "type": "lengths", "args": fixture.Object{"tensor": "pair", "axis": 1}},
			{"to_name": "has", "type": "mask", "args": fixture.Object{"tensor": "pos"}},
			{"to_name": "has2", "type": "mask", "args": fixture.Object{"tensor": "pair", "axis": 1}},
		}
	}
	return datasets
}

// TestMeasuresTellPadding compares lengths and masks with the values outside of the
// padding.
func TestMeasuresTellPadding(t *testing.T) {
	testruntime.Need(t)
	for name, f := range measuredDatasets(t) {
		t.Run(name, func(t *testing.T) {
			batches := 0
			for b, err := range openSequence(t, f).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				checkMeasures(t, b)
				batches++
			}
			if batches < 2 {
				t.Errorf("%d batches", batches)
			}
		})
	}
}

func checkMeasures(t *testing.T, b *loaders.Batch) {
	t.Helper()
	shape := b.Tensor("pos").Shape()
	var lengths []int64
	var has []bool
	for row := range slices.Chunk(column[int64](t, b, "pos"), int(max(shape[1], 1))) {
		n := int64(0)
		for _, v := range row {
			has = append(has, v >= 0)
			if v >= 0 {
				n++
			}
		}
		lengths = append(lengths, n)
	}
	if diff := cmp.Diff(lengths, column[int64](t, b, "n")); diff != "" {
		t.Errorf("lengths (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(shape, b.Tensor("has").Shape()); diff != "" {
		t.Errorf("shape of the mask (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(has, column[bool](t, b, "has")); diff != "" {
		t.Errorf("mask (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(slices.Repeat([]int64{2}, len(lengths)), column[int64](t, b, "two")); diff != "" {
		t.Errorf("lengths of a known axis (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(slices.Repeat([]bool{true}, 2*len(lengths)), column[bool](t, b, "has2")); diff != "" {
		t.Errorf("mask of a known axis (-want +got)\n%s", diff)
	}
}

// TestLengthsFollowSteps measures the result of a slice, padded to a given size.
func TestLengthsFollowSteps(t *testing.T) {
	testruntime.Need(t)
	data := newSequenceData([][]int{{5, 2, 0, 3}})
	f := newSequence(t, "", data)
	f.Args["target_batch_size"] = 4
	f.Args["processing_steps"] = []fixture.Object{{"tensor": "pos", "type": "slice", "args": fixture.Object{"slice": "1:4"}}}
	f.Args["padding"] = []fixture.Object{{"tensor": "pos", "shape": []int{6}}}
	f.Args["secondary_features"] = []fixture.Object{
		{"to_name": "n", "type": "lengths", "args": fixture.Object{"tensor": "pos"}},
		{"to_name": "all", "type": "lengths", "args": fixture.Object{"tensor": "pair"}},
		{"to_name": "has", "type": "mask", "args": fixture.Object{"tensor": "pos"}},
	}
	for b, err := range openSequence(t, f).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{3, 1, 0, 2}, column[int64](t, b, "n")); diff != "" {
			t.Errorf("lengths (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]int64{5, 2, 0, 3}, column[int64](t, b, "all")); diff != "" {
			t.Errorf("lengths without a step (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]int64{4, 6}, b.Tensor("has").Shape()); diff != "" {
			t.Errorf("shape of the mask (-want +got)\n%s", diff)
		}
	}
}

// TestLengthsOfRecords measures the records of discrete windows.
func TestLengthsOfRecords(t *testing.T) {
	testruntime.Need(t)
	lengths := []int{3, 1, 9, 4, 4, 5, 2}
	for _, size := range []int64{1, 2, 3} {
		f := newSequence(t, "discrete_sequence", newSequenceData([][]int{lengths}))
		window{min: 1, max: size, tail: "keep"}.set(f)
		if size == 2 {
			window{min: 2, max: 2, tail: "keep"}.set(f)
			lengths = lengths[:6]
		}
		f.Args["padding"], f.Args["target_batch_size"], f.Args["seed"] = true, 2, 1
		f.Args["secondary_features"] = []fixture.Object{
			{"to_name": "n", "type": "lengths", "args": fixture.Object{"tensor": "pos"}},
			{"to_name": "each", "type": "lengths", "args": fixture.Object{"tensor": "pos", "of": "records"}},
		}
		var got []int
		for b, err := range openSequence(t, f).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, recordLengths(t, b)...)
		}
		if diff := cmp.Diff(lengths, got); diff != "" {
			t.Errorf("windows of up to %d records (-want +got)\n%s", size, diff)
		}
		lengths = []int{3, 1, 9, 4, 4, 5, 2}
	}
}

// recordLengths returns the lengths of the records of a batch, and checks
// that they add up to those of the windows.
func recordLengths(t *testing.T, b *loaders.Batch) (lengths []int) {
	t.Helper()
	n, each := column[int64](t, b, "n"), b.Tensor("each")
	values, err := tfbridge.View[int64](each)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for row := range slices.Chunk(values, int(each.Shape()[1])) {
		sum := int64(0)
		for _, v := range row {
			sum += v
			if v > 0 {
				lengths = append(lengths, int(v))
			}
		}
		if sum != n[i] {
			t.Errorf("a window of length %d has records of %v", n[i], row)
		}
		i++
	}
	return lengths
}
