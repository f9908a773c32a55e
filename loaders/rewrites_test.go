package loaders_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
)

// rewriteDatasets are datasets for which the optimiser makes different decisions.
func rewriteDatasets(t *testing.T) map[string]*fixture.Dataset {
	plain, mixed, endless := fixture.New(t), fixture.New(t), fixture.New(t)
	shuffled(mixed)
	mixed.Args["padding"] = false
	endless.Args["epochs"], endless.Args["drop_remainder"] = nil, true
	for _, d := range []*fixture.Dataset{plain, mixed, endless} {
		for i := range 3 {
			d.WriteRecords(t, fmt.Sprintf("%d.tfrecords", i), fixture.Record(int64(i)))
		}
	}
	data := newSequenceData([][]int{{3, 1, 4}, {2, 2}})
	all := map[string]*fixture.Dataset{
		"plain": plain, "mixed": mixed, "endless": endless,
		"continuous": newSequence(t, "continuous_sequence", data), "overlapping": newSequence(t, "continuous_sequence", data),
		"discrete": newSequence(t, "discrete_sequence", data), "lists": newSequence(t, "", data),
		"buckets": bucketDataset(t, "", fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "axis": 0, "boundaries": []int{3}}}),
	}
	for _, name := range []string{"continuous", "overlapping", "discrete"} {
		all[name].Args["min_window"], all[name].Args["max_window"] = 2, 3
	}
	all["overlapping"].Args["stride"], all["overlapping"].Args["max_window"] = 1, 2
	shuffled(all["discrete"])
	all["lists"].Args["padding"] = true
	return all
}

// The optimiser's decisions and their reasons, with our own operations and without.
func TestRewritesAndReasons(t *testing.T) {
	datasets := rewriteDatasets(t)
	var got strings.Builder
	for _, name := range []string{"plain", "mixed", "endless", "continuous", "overlapping", "discrete", "lists", "buckets"} {
		d := datasets[name]
		d.Save(t)
		plan, problems := loaders.Check(d.Config(), nil)
		if plan == nil {
			t.Fatalf("%s: %v", name, problems)
		}
		for _, library := range []string{"", "library"} {
			plan.NativeLibrary = library
			fmt.Fprintf(&got, "%s, %q\n", name, library)
			for _, r := range plan.Engine().Rewrites() {
				fmt.Fprintf(&got, "\t%v\t%s: %s\n", r.Applied, r.Name, r.Why)
			}
			scan, err := plan.Scan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rows, known := plan.Rows(scan)
			fmt.Fprintf(&got, "\t%d records at once, %d again; %d examples, %v\n", plan.Engine().GroupSize(scan), plan.Engine().RetryGroupSize(), rows, known)
		}
	}
	const golden = "testdata/rewrites.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
