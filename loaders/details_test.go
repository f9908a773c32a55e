package loaders_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"millrace"
	"millrace/diag"
	"millrace/graph"
	"millrace/graph/dataset/native"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/observe"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// Stages are timed over the requested number of batches, or over one epoch if it has
// fewer, and listed in the order of the data.
func TestTimeStages(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	shuffled(d)
	d.Args["num_shuffle_buffer_elements"], d.Args["epochs"] = 4, 1
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 800)...)
	plan := withoutLibrary(t, d)
	scan, err := plan.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	elements := func(scan *loaders.Scan, batches int64) (shuffled, batched int64) {
		t.Helper()
		stages, err := loaders.TimeStages(t.Context(), plan, scan, batches)
		if err != nil {
			t.Fatal(err)
		}
		order := map[string]int{}
		for i, stage := range stages {
			order[stage.Name] = i + 1
			if stage.Datasets < 1 || stage.Time < 0 || stage.Time > time.Hour || stage.Buffered < 0 {
				t.Errorf("stage %+v", stage)
			}
			switch {
			case strings.Contains(stage.Name, "Shuffle"):
				shuffled = stage.Elements
			case strings.Contains(stage.Name, "Batch"):
				batched = max(batched, stage.Elements)
			}
		}
		return shuffled, batched
	}
	// Batches of 4. Some are read ahead; the last batch may be at most the 128th.
	few, _ := elements(nil, 2)
	all, batches := elements(scan, 1000)
	if few < 8 || few > 256 || all < 512 || batches < 128 {
		t.Errorf("the shuffle gave %d elements in 2 batches, %d in all; %d batches", few, all, batches)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if stages, err := loaders.TimeStages(ctx, plan, nil, 1); !errors.Is(err, millrace.ErrCanceled) || stages != nil {
		t.Errorf("canceled: %v, %v", stages, err)
	}
	if stages, err := loaders.TimeStages(ctx, plan, scan, 1); !errors.Is(err, millrace.ErrCanceled) || stages != nil {
		t.Errorf("canceled after the scan: %v, %v", stages, err)
	}
}

// The events for a listener name the config, and have the files' sizes, and the number
// of records where they were counted.
func TestListenerHearsTheSource(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	d.WriteRecords(t, "b.tfrecords", fixture.Records(3, 5)...)
	d.Save(t)
	bytes := int64(0)
	for _, name := range []string{"a.tfrecords", "b.tfrecords"} {
		info, err := os.Stat(d.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	var sources []string
	var scanned observe.Scanned
	l, err := loaders.Open(d.Config(), &loaders.Options{Observe: &observe.Listener{
		Opened:  func(e observe.Opened) { sources = append(sources, "opened "+e.Source) },
		Scanned: func(e observe.Scanned) { scanned = e; sources = append(sources, "scanned "+e.Source) },
		Batch: func(e observe.Batch) {
			if e.Step == 1 {
				sources = append(sources, "batch of "+e.Source)
			}
		},
		Closed: func(e observe.Closed) { sources = append(sources, "closed "+e.Source) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if scanned.Files != 2 || scanned.Records != 5 || scanned.Bytes != bytes {
		t.Errorf("scanned %+v, want 2 files of %d bytes with 5 records", scanned, bytes)
	}
	var want []string
	for _, what := range []string{"opened ", "scanned ", "batch of ", "closed "} {
		want = append(want, what+d.Config())
	}
	if diff := cmp.Diff(want, sources); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A plan that was scanned is not scanned again, and has the path of the library with
// which it will run.
func TestOpenPlanWithScan(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil || plan.NativeLibrary != native.Find(nil) {
		t.Fatalf("plan %+v, %v", plan, problems)
	}
	scanned := 0
	listener := &observe.Listener{Scanned: func(observe.Scanned) { scanned++ }}
	scan, err := loaders.Prepare(t.Context(), plan, &loaders.Options{Observe: listener})
	if err != nil {
		t.Fatal(err)
	}
	l, err := loaders.OpenPlan(plan, &loaders.Options{Observe: listener, Scan: scan})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if scanned != 1 || l.Scan() != scan || l.Plan() != plan {
		t.Errorf("scanned %d times", scanned)
	}
}

// A plan's dataset is described with its batches, and their costs.
func TestExplainPlan(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 8)...)
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	e, err := loaders.Explain(t.Context(), plan, nil, -1)
	if err != nil {
		t.Fatal(err)
	}
	if e.Elements != 4 || e.Run.Name() != "Prefetch" || e.Run.Measured == nil || e.Run.Measured.Elements != 4 {
		t.Errorf("%d batches; the last stage is %+v", e.Elements, e.Run)
	}
	if e, err = loaders.Explain(t.Context(), plan, nil, 0); err != nil || e.Elements != 0 || e.Run.Measured != nil {
		t.Errorf("without a pass: %+v, %v", e, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err = loaders.Explain(ctx, plan, nil, 1); !errors.Is(err, millrace.ErrCanceled) || e != nil {
		t.Errorf("canceled: %v, %v", e, err)
	}
}

// A plan that cannot be opened is an error of each way to open it, and leaves no
// resources.
func TestWhatCannotBeOpened(t *testing.T) {
	testruntime.Need(t)
	noneLeft := leak.Objects(t, tfbridge.Live)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	d.Args["epochs"] = -1
	d.Save(t)
	_, err := loaders.Open(d.Config(), nil)
	var list diag.List
	if !errors.As(err, &list) || !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), "epochs") {
		t.Errorf("a bad config: %v", err)
	}
	d.Args["epochs"] = 1
	d.Write(t, "a.tfrecords", []byte("no records at all"))
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), &loaders.CheckOptions{})
	if plan == nil {
		t.Fatal(problems)
	}
	_, openErr := loaders.Open(d.Config(), nil)
	_, planErr := loaders.OpenPlan(plan, &loaders.Options{})
	_, prepareErr := loaders.Prepare(t.Context(), plan, nil)
	_, stagesErr := loaders.TimeStages(t.Context(), plan, nil, 1)
	s := graph.NewScope()
	_, sourceErr := (&loaders.Source{Plan: plan}).Pipeline(t.Context(), s)
	for i, err := range []error{openErr, planErr, prepareErr, stagesErr, sourceErr} {
		if !errors.Is(err, millrace.ErrCorrupt) || !strings.Contains(err.Error(), d.Path("a.tfrecords")) {
			t.Errorf("way %d: %v", i, err)
		}
	}
	if err := s.Graph().Close(); err != nil {
		t.Error(err)
	}
	noneLeft()
}
