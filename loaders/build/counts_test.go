package build_test

import (
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"

	"github.com/google/go-cmp/cmp"
)

// Both engines count the same number of elements of padded tensors: of lists that the
// native operation pads, in batches and buckets, and of rows.
func TestEnginesCountElements(t *testing.T) {
	testruntime.Need(t)
	for _, tt := range []struct {
		name  string
		d     *fixture.Dataset
		wants []string
	}{
		{"padded natively", newLists(t, "independent", only(fixture.Object{"padding": []fixture.Object{{"tensor": "pair", "shape": []int{5, 2}}}, "target_batch_size": 3,
			"secondary_features": []fixture.Object{measureOf("n", "lengths", "pair", 0), measureOf("has", "mask", "pair", 0)}}, "id", "pair"), []int{3, 0, 5}), []string{
			`"n": {"dtype": "int64", "shape": [3], "values": [3, 0, 5]}`,
			`"has": {"dtype": "bool", "shape": [3, 5], "values": [true, true, true, false, false, false, false, false, false, false, true, true, true, true, true]}`,
			`"elements of pair": {"dtype": "int64", "shape": [3], "values": [6, 0, 10]}`,
			`"elements of has": {"dtype": "int64", "shape": [3], "values": [3, 0, 5]}`,
		}},
		{"beside lists", newExamples(t, "", []string{"tokens", "x"}, fixture.Object{"padding": []fixture.Object{{"tensor": "x", "shape": []int{2, 3}}}}, 3), []string{
			`"x": {"dtype": "float32", "shape": [3, 2, 3], "values": [0, 1, 0, 2, 3, 0, 4, 5, 0, 6, 7, 0, 8, 9, 0, 10, 11, 0]}`, `"elements of tokens": {"dtype": "int64", "shape": [3], "values": [0, 2, 4]}`,
		}},
		{"in buckets", newExamples(t, "", []string{"tokens"}, fixture.Object{"padding": true, "bucket_by_length": fixture.Object{"tensor": "tokens", "axis": 0, "boundaries": []int{1}}}, 3), []string{
			`"elements of tokens": {"dtype": "int64", "shape": [2], "values": [0, 2]}`,
		}},
		{"rows", newExamples(t, "chunked_sequence", []string{"tokens", "x"}, fixture.Object{"batch_size": 9, "sequence_features": []string{"tokens"},
			"padding": []fixture.Object{{"tensor": "x", "shape": []int{2, 3}}}}, 3), []string{
			`"x": {"dtype": "float32", "shape": [3, 2, 3], "values": [0, 1, 0, 2, 3, 0, 4, 5, 0, 6, 7, 0, 8, 9, 0, 10, 11, 0]}`, `"elements of tokens": {"dtype": "int64", "shape": [3], "values": [0, 2, 4]}`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			general := countsOf(t, tt.d, false)
			if diff := cmp.Diff(countsOf(t, tt.d, true), general); diff != "" {
				t.Errorf("(-native +general)\n%s", diff)
			}
			for _, want := range tt.wants {
				if !strings.Contains(general, want) {
					t.Errorf("no %s in\n%s", want, general)
				}
			}
		})
	}
}

// The smallest data, and the last windows of a file.
func TestEnginesAgreeAtTheEdges(t *testing.T) {
	testruntime.Need(t)
	first := fixture.Object{"to_name": "fixed", "type": "const", "args": fixture.Object{"shape": []int{2}, "dtype": "float32", "value": 0.5}}
	window := func(least, most int, more fixture.Object) fixture.Object {
		args := fixture.Object{"min_window": least, "max_window": most, "padding": true, "tail": "pad"}
		for key, value := range more {
			args[key] = value
		}
		return args
	}
	for _, tt := range []struct {
		name  string
		d     *fixture.Dataset
		wants []string
	}{
		{"one record twice", newExamples(t, "", []string{"x"}, fixture.Object{"epochs": 2, "target_batch_size": 1}, 1),
			[]string{"{\"x\": {\"dtype\": \"float32\", \"shape\": [1, 2, 2], \"values\": [0, 1, 2, 3]}}\n{\"x\":"}},
		{"a constant beside one list", newLists(t, "independent", only(fixture.Object{"padding": true, "secondary_features": []fixture.Object{first}}, "pos"), []int{1, 2}),
			[]string{`"fixed": {"dtype": "float32", "shape": [2, 2], "values": [0.5, 0.5, 0.5, 0.5]}`}},
		{"a padded tail of windows of any size", newLists(t, "continuous_sequence", only(window(2, 4, nil), "pos"), []int{3, 4}, []int{1}),
			[]string{"\"shape\": [2, 4], \"values\": [0, 1, 2, 3, 4, 5, 6, 0]}}\n{\"pos\": {\"dtype\": \"int32\", \"shape\": [1, 4], \"values\": [7, 0, 0, 0]}}"}},
		{"a padded tail of overlapping windows", newLists(t, "continuous_sequence", only(window(3, 3, fixture.Object{"stride": 2, "target_batch_size": 4}), "pos"), []int{3, 3}),
			[]string{`"shape": [3, 3], "values": [0, 1, 2, 2, 3, 4, 4, 5, 0]`}},
		{"a kept tail of overlapping windows", newLists(t, "continuous_sequence", only(window(2, 3, fixture.Object{"stride": 1, "tail": "keep", "target_batch_size": 9}), "pos"), []int{3, 1}), nil},
	} {
		t.Run(tt.name, func(t *testing.T) { agree(t, tt.d, tt.wants...) })
	}
}
