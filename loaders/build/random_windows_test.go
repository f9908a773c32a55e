package build_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
)

// Windows of random configs are the same with Millrace's own operations, which cut
// them, and without.
func TestEnginesAgreeOnRandomWindows(t *testing.T) {
	testruntime.Need(t)
	r := rand.New(rand.NewPCG(17, 3))
	for i := range 40 {
		kind, features, args := randomWindows(r)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			d := newExamples(t, kind, features, args, 7, 2, 0, 3)
			if p := checked(t, d, true); !p.Engine().Native().Applied {
				t.Fatalf("%v: not native: %s", args, p.Engine().Native().Why)
			}
			if agree(t, d); t.Failed() {
				t.Logf("%s %v %v", kind, features, args)
			}
		})
	}
}

// randomWindows draws the type, features and arguments of a loader of windows.
func randomWindows(r *rand.Rand) (kind string, features []string, args fixture.Object) {
	kind, features = "continuous_sequence", [][]string{{"x", "code"}, {"code", "x"}, {"x"}}[r.IntN(3)]
	least := 1 + r.IntN(4)
	args = fixture.Object{
		"min_window": least, "max_window": least + max(r.IntN(6)-1, 0), "target_batch_size": 1 + r.IntN(4),
		"epochs": 1 + r.IntN(2), "drop_remainder": r.IntN(4) == 0, "seed": r.IntN(1000), "padding": r.IntN(6) > 0,
	}
	tails := []string{"keep", "drop", "pad"}
	if r.IntN(3) == 0 {
		kind, features, tails = "discrete_sequence", append(features, "small"), tails[:2]
	} else if r.IntN(2) == 0 {
		args["stride"] = 1 + r.IntN(5)
	}
	args["tail"] = tails[r.IntN(len(tails))]
	if r.IntN(2) == 0 {
		args["processing_steps"] = []fixture.Object{stepOf(features[0], []string{"[1:]", "[:2]", "[-1:]"}[r.IntN(3)])}
	}
	if r.IntN(2) == 0 {
		args["secondary_features"] = moreTensors(kind, features[0])
	}
	if r.IntN(3) == 0 {
		args["shuffle"], args["num_shuffle_buffer_elements"] = true, 3
		args["num_filenames_shuffle_buffer"], args["num_mix_files"] = 2, 2
	}
	return kind, features, args
}

// moreTensors are constants and measures of windows of a feature.
func moreTensors(kind, feature string) []fixture.Object {
	all := []fixture.Object{
		measureOf("n", "lengths", feature, 0), measureOf("has", "mask", feature, 0),
		{"to_name": "like", "type": "const", "args": fixture.Object{"shape": feature, "dtype": "int8", "value": 4}},
		{"to_name": "fixed", "type": "const", "args": fixture.Object{"shape": []int{2}, "dtype": "float32", "value": 0.5}},
	}
	if kind == "discrete_sequence" {
		parts := fixture.Object{"tensor": feature, "of": "records"}
		all = append(all, fixture.Object{"to_name": "parts", "type": "lengths", "args": parts})
	}
	return all
}
