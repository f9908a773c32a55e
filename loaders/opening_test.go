package loaders_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/observe"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// Each option of a check changes the rule for which it is meant.
func TestCheckOptions(t *testing.T) {
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	d.Args["shuffle"], d.Args["num_shuffle_buffer_elements"] = true, 1000
	d.Args["num_filenames_shuffle_buffer"], d.Args["num_mix_files"] = 1, 1
	d.Save(t)
	seed := int64(42)
	plan, problems := loaders.Check(d.Config(), &loaders.CheckOptions{Seed: &seed, CheckRecords: true, Keep: []string{"id"}, Root: d.Dir, MemoryLimit: 1 << 30})
	if plan == nil || plan.Seed != 42 || !plan.CheckRecords {
		t.Fatalf("plan %+v, %v", plan, problems)
	}
	if plan, problems = loaders.Check(d.Config(), nil); plan == nil || plan.CheckRecords {
		t.Fatalf("plan %+v, %v", plan, problems)
	}
	elsewhere := &loaders.CheckOptions{Runtime: &tfbridge.RuntimeOptions{Dir: t.TempDir()}}
	if plan, problems = loaders.Check(d.Config(), elsewhere); plan == nil || plan.NativeLibrary != "" {
		t.Errorf("plan %+v for a runtime that is not there, %v", plan, problems)
	}
	for words, o := range map[string]*loaders.CheckOptions{
		"the model has no input":     {Model: &loaders.ModelNames{Inputs: []string{"nothing"}}},
		`no feature is named "none"`: {Keep: []string{"none"}},
		"the loss":                   {Keep: []string{"none"}, KeptFor: map[string]string{"none": "the loss"}},
		"leads out of":               {Root: t.TempDir()},
		"the limit is 1;":            {MemoryLimit: 1},
	} {
		plan, problems := loaders.Check(d.Config(), o)
		if plan != nil || !strings.Contains(problems.Error(), words) {
			t.Errorf("no %q in: %v", words, problems)
		}
	}
}

// A plan that cannot be built is an error of every way to build it. So is a session
// that cannot be made, and a runtime that is not the one in use. None of them leaves
// resources.
func TestPlansThatCannotBeBuilt(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	good := withoutLibrary(t, d)
	scan, err := good.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	remote := withoutLibrary(t, d)
	remote.Files[0].Remote = true // only our own operations read such a file
	s := graph.NewScope()
	defer s.Graph().Close()
	noneLeft := leak.Objects(t, tfbridge.Live)
	fails := func(way string, got any, nothing bool, err, class error) {
		t.Helper()
		if !errors.Is(err, class) || !nothing {
			t.Errorf("%s: %v, %v, want class %v", way, got, err, class)
		}
	}
	l, err := loaders.OpenPlan(remote, &loaders.Options{Scan: scan})
	fails("OpenPlan", l, l == nil, err, millrace.ErrRuntime)
	stages, err := loaders.TimeStages(t.Context(), remote, scan, 1)
	fails("TimeStages", stages, stages == nil, err, millrace.ErrRuntime)
	pipe, err := loaders.Build(s, remote, scan)
	fails("Build", pipe, pipe == nil, err, millrace.ErrRuntime)
	input, err := (&loaders.Source{Plan: remote, Scan: scan}).Pipeline(t.Context(), s)
	fails("Pipeline", input, input == nil, err, millrace.ErrRuntime)
	l, err = loaders.OpenPlan(good, &loaders.Options{Scan: scan, Session: &tfbridge.SessionOptions{Config: []byte("\xff")}})
	fails("OpenPlan in no session", l, l == nil, err, tfbridge.InvalidArgument)
	other := &loaders.Options{Runtime: &tfbridge.RuntimeOptions{Dir: t.TempDir()}}
	found, err := loaders.Prepare(t.Context(), good, other)
	fails("Prepare with another runtime", found, found == nil, err, millrace.ErrRuntime)
	l, err = loaders.OpenPlan(good, other)
	fails("OpenPlan with another runtime", l, l == nil, err, millrace.ErrRuntime)
	noneLeft()
}

// A loader's scanned plan can be built into other graphs without looking at the files
// again. Closing the loader and the graphs frees everything.
func TestLoadersAreSources(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	plan := withoutLibrary(t, d)
	noneLeft := leak.Objects(t, tfbridge.Live)
	s := graph.NewScope()
	defer s.Graph().Close()
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pipe, err := l.Pipeline(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := pipe.Tensor("id"); !ok || len(pipe.Tensors()) != 2 {
		t.Errorf("tensors %v", pipe.Tensors())
	}
	if _, err := (&loaders.Source{Plan: plan}).Pipeline(ctx, s); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("a source that is not scanned: %v", err)
	}
	if err := errors.Join(l.Close(), s.Graph().Close()); err != nil {
		t.Error(err)
	}
	noneLeft()
}

// sane reports whether a duration is positive and not absurdly long.
func sane(d time.Duration) bool { return d > 0 && d < time.Hour }

// A listener may leave out any event. A run may have its own listener, which gets the
// batches instead of the loader's.
func TestListenersOfRuns(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	d.Save(t)
	silent, err := loaders.Open(d.Config(), &loaders.Options{Observe: &observe.Listener{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := silent.Close(); err != nil {
		t.Error(err)
	}
	var mine, others []string
	hears := func(said *[]string) func(observe.Batch) {
		return func(e observe.Batch) { *said = append(*said, e.Source) }
	}
	l, err := loaders.Open(d.Config(), &loaders.Options{Observe: &observe.Listener{
		Opened: func(e observe.Opened) {
			if !sane(e.Duration) {
				t.Errorf("the check took %v", e.Duration)
			}
		},
		Scanned: func(e observe.Scanned) {
			if !sane(e.Duration) {
				t.Errorf("the scan took %v", e.Duration)
			}
		},
		Batch: hears(&others),
		Closed: func(e observe.Closed) {
			if !sane(e.Duration) || e.Err != nil {
				t.Errorf("closed after %v: %v", e.Duration, e.Err)
			}
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := &loaders.RunOptions{Observe: &observe.Listener{Batch: hears(&mine)}, Source: "mine"}
	for _, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{d.Config(), d.Config()}, mine); diff != "" || others != nil || o.Source != "mine" {
		t.Errorf("the loader's listener heard %v; the run's (-want +got)\n%s", others, diff)
	}
	for _, err := range l.Run(t.Context(), &loaders.RunOptions{Steps: 1}) {
		if err != nil {
			t.Error(err)
		}
	}
	if len(others) != 1 {
		t.Errorf("the loader's listener heard %v of a run of one step", others)
	}
}

// Records of remote files are not counted, their sizes are not known, and the time to
// check is 0 for a plan that was checked before. A bad record that is found beforehand
// is reported.
func TestListenerHearsOfTheScan(t *testing.T) {
	testruntime.Need(t)
	d := remoteDataset(t, "gs://bucket/a", "data/b.tfrecords")
	d.WriteRecords(t, "b.tfrecords", fixture.Records(0, 3)...)
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	plan.NativeLibrary = "needed for remote files, by those who read them"
	var heard []observe.Scanned
	bad := 0
	listener := &observe.Listener{
		Scanned:   func(e observe.Scanned) { e.Duration = 0; heard = append(heard, e) },
		BadRecord: func(e observe.BadRecord) { bad++ },
	}
	if _, err := loaders.Prepare(t.Context(), plan, &loaders.Options{Observe: listener}); err != nil {
		t.Fatal(err)
	}
	want := []observe.Scanned{{Source: d.Config(), Files: 2, Records: -1, Bytes: plan.Files[1].Size}}
	if diff := cmp.Diff(want, heard); diff != "" || plan.Files[1].Size <= 0 {
		t.Errorf("(-want +got)\n%s", diff)
	}
	d.WriteRecords(t, "b.tfrecords", fixture.Record(0), nil)
	plan.CheckRecords = true
	if scan, err := loaders.Prepare(t.Context(), plan, &loaders.Options{Observe: listener}); !errors.Is(err, millrace.ErrSchema) || scan != nil || bad != 1 || len(heard) != 1 {
		t.Errorf("scan %v, %v, told %d times of a bad record", scan, err, bad)
	}
	opened := time.Duration(-1)
	listener.Opened = func(e observe.Opened) { opened = e.Duration }
	if l, err := loaders.OpenPlan(plan, &loaders.Options{Observe: listener}); err == nil || opened != 0 {
		t.Errorf("opened %v in %v", l, opened)
	}
}

// The times are those after the requested number of batches, including what was read
// ahead, or those at the end of the data.
func TestTimesOfSoManyBatches(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.Args["target_batch_size"] = 1
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 100)...)
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	noneLeft := leak.Objects(t, tfbridge.Live)
	for batches, least := range map[int64]int64{1: 1, 48: 48, 1000: 64} {
		stages, err := loaders.TimeStages(t.Context(), plan, nil, batches)
		if err != nil {
			t.Fatal(err)
		}
		last := stages[len(stages)-1]
		if last.Name != "Prefetch" || last.Elements < least || last.Elements > least+8 && batches < 100 {
			t.Errorf("%d batches: the last stage is %+v", batches, last)
		}
	}
	noneLeft()
	if plan.TimeStages {
		t.Error("the plan that was given measures now")
	}
	d.WriteRecords(t, "a.tfrecords", fixture.Record(0), nil)
	if stages, err := loaders.TimeStages(t.Context(), plan, nil, 9); !errors.Is(err, millrace.ErrSchema) || stages != nil {
		t.Errorf("times of a bad record: %v, %v", stages, err)
	}
}
