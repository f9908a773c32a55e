package loaders_test

import (
	"errors"
	"fmt"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/observe"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// single are the options of a run that takes one batch a step.
func single() *loaders.RunOptions { return &loaders.RunOptions{OnDemand: true} }

// joinedLoaders opens loaders with several batches in a step: of 46 records or windows
// in batches of 4, over two epochs.
func joinedLoaders(t *testing.T) map[string]*loaders.Loader {
	t.Helper()
	records := fixture.New(t)
	records.WriteRecords(t, "a.tfrecords", fixture.Records(0, 23)...)
	windows := exampleSequence(t, window{kind: "continuous_sequence", min: 5, max: 5, tail: "keep"}, 20, 3)
	all := map[string]*loaders.Loader{}
	for name, f := range map[string]*fixture.Dataset{"records": records, "windows": windows} {
		f.Args["target_batch_size"], f.Args["epochs"], f.Args["num_prefetch"] = 4, 2, 2
		f.Save(t)
		plan, problems := loaders.Check(f.Config(), nil)
		if plan == nil {
			t.Fatal(problems)
		}
		if plan.NativeLibrary == "" {
			t.Skip("the native library is not built")
		}
		if n := plan.Engine().BatchesAtOnce(); n != 64 {
			t.Fatalf("%s: %d batches at once", name, n)
		}
		all[name] = openPlan(t, plan)
	}
	return all
}

// Batches that come several at a time equal those that come one by one, and so do their
// states. Each kind of run can be resumed from the other's states.
func TestJoinedBatches(t *testing.T) {
	testruntime.Need(t)
	for name, l := range joinedLoaders(t) {
		want, _ := textsOf(t, l, single())
		if got, _ := textsOf(t, l, nil); len(want) != 12 || !cmp.Equal(want, got) {
			t.Errorf("%s: %d batches (-single +joined)\n%s", name, len(want), cmp.Diff(want, got))
		}
		for _, every := range []int64{1, 3, 4, 16, 64} {
			got, states := textsOf(t, l, &loaders.RunOptions{SaveEvery: every})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: states every %d batches (-single +joined)\n%s", name, every, diff)
			}
			for i, state := range states {
				if due := int64(i+1)%every == 0; due != (state != nil) {
					t.Errorf("%s: states every %d batches: %d bytes with batch %d", name, every, len(state), i+1)
				}
				if state == nil {
					continue
				}
				for _, o := range []*loaders.RunOptions{{}, {OnDemand: true}, {SaveEvery: 6}} {
					o.State = state
					rest, _ := textsOf(t, l, o)
					if diff := cmp.Diff(want[i+1:], append([]string{}, rest...)); diff != "" {
						t.Errorf("%s: from batch %d, %+v (-want +got)\n%s", name, i+1, o, diff)
					}
				}
			}
		}
		if got, _ := textsOf(t, l, &loaders.RunOptions{Steps: 5}); !cmp.Equal(want[:5], got) {
			t.Errorf("%s: five steps (-want +got)\n%s", name, cmp.Diff(want[:5], got))
		}
	}
}

// A loop that ends in the middle of a step's batches leaves no resources. A kept batch
// stays unchanged.
func TestJoinedBatchesThatNobodyTakes(t *testing.T) {
	testruntime.Need(t)
	for name, l := range joinedLoaders(t) {
		leak.Check(t, tfbridge.Live)
		want, _ := textsOf(t, l, single())
		for range 3 {
			var kept *loaders.Batch
			seen := 0
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if seen++; seen == 2 {
					b.Keep()
					kept = b
				}
				if seen == 3 {
					break
				}
			}
			if got := textOf(t, kept); got != want[1] {
				t.Errorf("%s: kept %s, want %s", name, got, want[1])
			}
			kept.Close()
		}
	}
}

// The batches before a bad record are delivered, and the error names it, as in a run
// with one batch a step. A listener gets one event for each batch.
func TestJoinedBatchesBeforeABadRecord(t *testing.T) {
	testruntime.Need(t)
	const good = 13
	f := fixture.New(t)
	bad := fixture.Records(0, 20)
	bad[good] = []byte{0xff}
	f.WriteRecords(t, "a.tfrecords", bad...)
	f.Args["target_batch_size"], f.Args["num_prefetch"] = 3, 2
	f.Save(t)
	var told []int64
	l, err := loaders.Open(f.Config(), &loaders.Options{Observe: &observe.Listener{
		Batch: func(b observe.Batch) { told = append(told, b.Step) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	run := func(o *loaders.RunOptions) (texts []string, last error) {
		told = nil
		for b, err := range l.Run(t.Context(), o) {
			if err != nil {
				return texts, err
			}
			texts = append(texts, textOf(t, b))
		}
		return texts, nil
	}
	want, wantErr := run(single())
	got, err := run(nil)
	var e *millrace.Error
	if !errors.As(err, &e) || e.Record != good || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Errorf("got %v, one by one %v", err, wantErr)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != good/3 {
		t.Errorf("%d batches (-single +joined)\n%s", len(got), diff)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4}, told); diff != "" {
		t.Errorf("told of batches (-want +got)\n%s", diff)
	}
}
