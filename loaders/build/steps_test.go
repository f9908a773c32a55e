package build_test

import (
	"maps"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"

	"github.com/google/go-cmp/cmp"
)

// doing is a processing step.
func doing(kind, tensor string, args fixture.Object, more ...string) fixture.Object {
	step := fixture.Object{"type": kind}
	if args != nil {
		step["args"] = args
	}
	if tensor != "" {
		step["tensor"] = tensor
	}
	for i := 0; i+1 < len(more); i += 2 {
		step[more[i]] = more[i+1]
	}
	return step
}

// together are steps that are built on whole batches, and singly are steps that get one
// example at a time. Both make a tensor "half", and remove "pos".
var (
	together = []fixture.Object{
		doing("cast", "pos", fixture.Object{"dtype": "float32"}, "to_name", "half"),
		doing("scale", "half", fixture.Object{"factor": 0.5, "offset": 1}),
		doing("drop", "pos", nil),
	}
	singly = append([]fixture.Object{
		doing("expand_dims", "pos", fixture.Object{"axis": -1}, "to_name", "column"),
		doing("squeeze", "column", fixture.Object{"axis": 1}, "to_name", "pos"),
		doing("drop", "column", nil),
	}, together...)
)

// Processing steps give the same batches with Millrace's own operations and without, in
// all loader types: on whole batches, on joined rows, and on single examples. So do two
// steps that undo each other.
func TestStepsOfAllLoaders(t *testing.T) {
	testruntime.Need(t)
	files := [][]int{{3, 1, 2, 4, 5}, {2, 2, 2, 2}, {6, 1}}
	shuffled := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 3, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2}
	equal := fixture.Object{"min_window": 3, "max_window": 3}
	for _, tt := range []struct {
		name, kind string
		args       fixture.Object
		want       string
	}{
		{"records", "independent", nil, `"half": {"dtype": "float32", "shape": [3, 3], "values": [1, 1.5, 2, 2.5, 0, 0, 3, 3.5, 0]}`},
		{"buckets", "independent", fixture.Object{"bucket_by_length": fixture.Object{"tensor": "half", "axis": 0, "boundaries": []int{2, 4}}}, `"half"`},
		{"shuffled", "independent", shuffled, `"half"`},
		{"equal windows", "continuous_sequence", equal, `"half": {"dtype": "float32", "shape": [3, 3], "values": [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]}`},
		{"windows, shuffled", "continuous_sequence", with(fixture.Object{"min_window": 1, "max_window": 4}, shuffled), `"half"`},
		{"windows of records", "discrete_sequence", fixture.Object{"min_window": 1, "max_window": 2}, `"half"`},
		{"chunks", "chunked_sequence", fixture.Object{"batch_size": 8, "chunk_size": 3}, `"half": {"dtype": "float32", "shape": [2, 3], "values": [1, 1.5, 2, 2.5, 0, 0]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dumps := map[string]string{}
			for name, steps := range map[string][]fixture.Object{"together": together, "singly": singly} {
				args := with(fixture.Object{"processing_steps": steps, "padding": true, "target_batch_size": 3}, tt.args)
				d := newLists(t, tt.kind, args, files...)
				for _, native := range []bool{name == "together", true} {
					dumps[name+map[bool]string{true: " native"}[native]] = dumpOf(t, d, native)
				}
			}
			want := dumps["together native"]
			if !strings.Contains(want, tt.want) || strings.Contains(want, `"pos"`) {
				t.Errorf("no %s in, or the tensor pos in\n%s", tt.want, want)
			}
			for name, got := range dumps {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-together native +%s)\n%s", name, name, diff)
				}
			}
		})
	}
}

// with returns arguments merged with others.
func with(args, more fixture.Object) fixture.Object {
	all := fixture.Object{}
	maps.Copy(all, args)
	maps.Copy(all, more)
	return all
}
