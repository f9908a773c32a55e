package run

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/steps"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/loaders/build"
	"millrace/tfbridge"
)

// probes are iterators that find an example, that find none, and operations that
// fail, in one graph.
type probes struct {
	some, none, lost *dataset.Iterator
	failing          tfbridge.Output
}

func newProbes(s *graph.Scope) (p probes) {
	p.some = dataset.Range(s, 0, 1, 1).Iterator("some")
	p.none = dataset.Range(s, 0, 0, 1).Iterator("none")
	p.failing = s.Op1("StringToNumber", map[string]any{"out_type": tfbridge.Int64}, s.Const("no number"))
	p.lost = &dataset.Iterator{Init: p.some.Init, Element: []tfbridge.Output{p.failing}}
	return p
}

// An endless loader looks for an example before it starts. If there is none, the loader
// returns an error; a loader with a number of epochs is then at its end.
func TestProbe(t *testing.T) {
	testruntime.Need(t)
	var p probes
	pl := scanned(t, records(t, 3))
	_, sess := newGraph(t, func(s *graph.Scope) {
		p = newProbes(s)
		pl.Group = s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	})
	noneLeft := leak.Objects(t, openTensors)
	for _, tt := range []struct {
		name   string
		probe  *dataset.Iterator
		epochs int64
		empty  bool
		words  string // words of the error
	}{
		{"no probe", nil, 1, false, ""},
		{"an example", p.some, 0, false, ""},
		{"an example of several epochs", p.some, 2, false, ""},
		{"none, endless", p.none, 0, true, "the data files hold no records"},
		{"none in one epoch", p.none, 1, true, ""},
		{"no start", &dataset.Iterator{Init: p.failing.Op}, 0, false, "StringToNumberOp"},
		{"no first example", p.lost, 2, false, "StringToNumberOp"},
	} {
		pl.Probe, pl.Plan.Epochs = tt.probe, tt.epochs
		empty, err := pl.runProbe(t.Context(), sess)
		if empty != tt.empty || (err == nil) != (tt.words == "") || err != nil && !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: empty %v, %v", tt.name, empty, err)
		}
		var e *millrace.Error
		if err != nil && (!errors.As(err, &e) || e.Loader != pl.Plan.Path || e.Class != millrace.ErrSchema) {
			t.Errorf("%s: class %v of %q", tt.name, e.Class, e.Loader)
		}
	}
	noneLeft()
}

// A pass does not start where the probe or the iterator fails, and one without any
// example ends at once.
func TestPassesThatDoNotStart(t *testing.T) {
	testruntime.Need(t)
	pl := scanned(t, records(t, 3))
	var p probes
	_, sess := newGraph(t, func(s *graph.Scope) {
		parts, err := build.Build(s, pl.Plan, pl.Scan)
		if err != nil {
			t.Fatal(err)
		}
		pl, p = NewPipeline(parts), newProbes(s)
	})
	noneLeft := leak.Objects(t, openTensors)
	var state []byte
	batches := func() (n int, last error) {
		for b, err := range pl.Run(t.Context(), sess, &steps.Options{SaveEvery: 1}) {
			if last = err; err == nil {
				n, state = n+1, b.State()
			}
		}
		return n, last
	}
	if n, err := batches(); n != 2 || err != nil {
		t.Errorf("%d batches, %v", n, err)
	}
	pl.Probe, pl.Plan.Epochs = p.none, 2
	if n, err := batches(); n != 0 || err != nil {
		t.Errorf("%d batches of no example, %v", n, err)
	}
	pl.Probe = p.lost
	if n, err := batches(); n != 0 || !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("%d batches behind a failed probe, %v", n, err)
	}
	pl.Probe, pl.Iterator.Init = nil, p.failing.Op
	var e *millrace.Error
	if n, err := batches(); n != 0 || !errors.As(err, &e) || e.Class != millrace.ErrSchema || e.Loader != pl.Plan.Path {
		t.Errorf("%d batches of an iterator that does not start, %v", n, err)
	}
	if _, err := pl.open(t.Context(), sess, &steps.Options{State: state}); !errors.As(err, &e) || e.Class != millrace.ErrSchema {
		t.Errorf("a state for an iterator that does not start: %v", err)
	}
	noneLeft()
}
