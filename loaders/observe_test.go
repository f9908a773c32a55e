package loaders_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/observe"

	"github.com/google/go-cmp/cmp"
)

// recorder writes down the events.
type recorder struct {
	mu      sync.Mutex
	said    []string
	bad     []observe.BadRecord
	elapsed []time.Duration
	least   time.Duration // the shortest duration
}

func (r *recorder) say(d time.Duration, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
	r.least = min(r.least, d)
}

// listener returns a listener for all events except stalls, which depend on timing.
func (r *recorder) listener() *observe.Listener {
	return &observe.Listener{
		Opened:  func(e observe.Opened) { r.say(e.Duration, "opened %d files", e.Files) },
		Scanned: func(e observe.Scanned) { r.say(e.Duration, "scanned %d records", e.Records) },
		Batch: func(e observe.Batch) {
			r.say(e.Duration, "batch %d of %d", e.Step, e.Rows)
			r.elapsed = append(r.elapsed, e.Elapsed-e.Duration, e.Elapsed)
		},
		BadRecord: func(e observe.BadRecord) { r.say(0, "bad record"); r.bad = append(r.bad, e) },
		Retry:     func(e observe.Retry) { r.say(0, "retry of %d", e.Step) },
		Closed:    func(e observe.Closed) { r.say(e.Duration, "closed: %v", e.Err) },
	}
}

// A loader reports its events in order. Times never decrease.
func TestListener(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
	d.Save(t)
	var r recorder
	l, err := loaders.Open(d.Config(), &loaders.Options{Observe: r.listener()})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"opened 1 files", "scanned 5 records", "batch 1 of 2", "batch 2 of 2", "batch 3 of 1", "closed: <nil>"}
	if diff := cmp.Diff(want, r.said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if r.least < 0 {
		t.Errorf("a duration of %v", r.least)
	}
	for i := 1; i < len(r.elapsed); i++ {
		if r.elapsed[i] < r.elapsed[i-1] {
			t.Errorf("begins and ends of steps run backwards: %v", r.elapsed)
		}
	}
}

// A record that cannot be read is reported once, with file and ordinal, after the good
// batches before it. TensorFlow's parser takes several batches at once and repeats the
// step to deliver them.
func TestListenerHearsOfABadRecord(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	records := fixture.Records(0, 7)
	records[4] = records[4][:10]
	d.WriteRecords(t, "a.tfrecords", records...)
	d.Save(t)
	good := []string{"opened 1 files", "scanned 7 records", "batch 1 of 2", "batch 2 of 2", "bad record", "closed: <nil>"}
	for engine, want := range map[string][]string{
		"native":     slices.Insert(slices.Clone(good), 2, "retry of 1"), // one run took both batches and the bad record
		"TensorFlow": slices.Insert(slices.Clone(good), 4, "retry of 3"),
	} {
		t.Run(engine, func(t *testing.T) {
			plan, problems := loaders.Check(d.Config(), nil)
			if plan == nil {
				t.Fatal(problems)
			}
			if engine != "native" {
				plan.NativeLibrary = ""
			} else if plan.NativeLibrary == "" {
				t.Skip("the native library is not built")
			}
			var r recorder
			l, err := loaders.OpenPlan(plan, &loaders.Options{Observe: r.listener()})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range l.Batches(t.Context()) {
				err = e
			}
			l.Close()
			if diff := cmp.Diff(want, r.said); diff != "" || err == nil {
				t.Fatalf("%v (-want +got)\n%s", err, diff)
			}
			if got := r.bad[0]; got.File != d.Path("a.tfrecords") || got.Record != 4 || got.Err == nil || got.Source != d.Config() {
				t.Errorf("told of %+v", got)
			}
		})
	}
}

// The log names the events in a form for programs.
func TestListenerLogs(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
	d.Save(t)
	var text bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&text, &slog.HandlerOptions{Level: slog.LevelInfo}))
	l, err := loaders.Open(d.Config(), &loaders.Options{Observe: observe.Log(logger)})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, want := range []string{`"msg":"opened"`, `"msg":"scanned"`, `"records":5`, `"msg":"closed"`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in\n%s", want, text.String())
		}
	}
}
