package loaders

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"millrace/graph"
	"millrace/graph/steps"
	"millrace/observe"
	"millrace/tfbridge"

	"golang.org/x/sync/errgroup"
)

// Options holds the options of [Open] and [OpenPlan]. Nil means the defaults.
type Options struct {
	Check   *CheckOptions            // how the config is checked
	Runtime *tfbridge.RuntimeOptions // where TensorFlow is; used by the first open of the process
	Session *tfbridge.SessionOptions // threads and devices; the loader sets QuickStart
	Observe *observe.Listener        // receives the loader's events; may be nil
	Scan    *Scan                    // the plan's scan, as [Prepare] returns it with a context; nil: OpenPlan scans
}

// Loader reads the batches that a config describes. It owns a graph and a
// session; [Loader.Close] frees them. Its methods may be called concurrently,
// but only one sequence of [Loader.Batches] may be ranged over at a time.
type Loader struct {
	plan    *Plan
	scan    *Scan
	graph   *tfbridge.Graph
	session *tfbridge.Session
	pipe    *Pipeline
	observe *observe.Listener
	opened  time.Time
	closed  atomic.Bool // whether Close was called
}

// Open checks a loader config and opens its dataset. The error for a config with
// problems is a [diag.List] of all of them.
func Open(path string, o *Options) (*Loader, error) {
	if o == nil {
		o = &Options{}
	}
	start := time.Now()
	plan, problems := Check(path, o.Check)
	if plan == nil {
		return nil, problems
	}
	return openPlan(plan, o, time.Since(start))
}

// OpenPlan opens a checked plan: it looks at every local data file, opens
// TensorFlow at the same time, and builds the graph.
func OpenPlan(p *Plan, o *Options) (*Loader, error) {
	if o == nil {
		o = &Options{}
	}
	return openPlan(p, o, 0)
}

// openPlan opens a plan. checked is the time that its check took.
func openPlan(p *Plan, o *Options, checked time.Duration) (*Loader, error) {
	l := &Loader{plan: p, scan: o.Scan, observe: o.Observe, opened: time.Now()}
	if o.Observe != nil && o.Observe.Opened != nil {
		o.Observe.Opened(observe.Opened{Source: p.Path, Files: len(p.Files), Duration: checked})
	}
	var err error
	if l.scan == nil {
		l.scan, err = Prepare(context.Background(), p, o)
	}
	if err == nil {
		err = l.build(o.Session)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Prepare scans a plan's files while TensorFlow is being opened, which takes
// about as long. Of the options it uses Runtime and Observe.
func Prepare(ctx context.Context, p *Plan, o *Options) (*Scan, error) {
	if o == nil {
		o = &Options{}
	}
	var scan *Scan
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		start := time.Now()
		if scan, err = p.Scan(ctx); err == nil {
			observeScan(o.Observe, p, scan, time.Since(start))
		}
		return o.Observe.Fault(p.Path, err)
	})
	group.Go(func() error {
		_, err := tfbridge.Open(o.Runtime)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return scan, nil
}

// observeScan reports the result of a scan.
func observeScan(l *observe.Listener, p *Plan, scan *Scan, took time.Duration) {
	if l == nil || l.Scanned == nil {
		return
	}
	e := observe.Scanned{Source: p.Path, Files: len(p.Files), Records: -1, Duration: took}
	if records, known := scan.Records(); known {
		e.Records = records
	}
	for _, f := range p.Files {
		e.Bytes += max(f.Size, 0)
	}
	l.Scanned(e)
}

func (l *Loader) build(session *tfbridge.SessionOptions) error {
	l.graph = tfbridge.NewGraph()
	pipe, err := Build(graph.NewScopeWithGraph(l.graph), l.plan, l.scan)
	if err != nil {
		return err
	}
	l.pipe = pipe
	l.session, err = tfbridge.NewSession(l.graph, quickStart(session))
	return err
}

// quickStart returns options with QuickStart set. A pipeline's functions are optimized at
// each start of a run, which takes longer than many runs.
func quickStart(o *tfbridge.SessionOptions) *tfbridge.SessionOptions {
	if o == nil {
		return &tfbridge.SessionOptions{QuickStart: true}
	}
	quick := *o
	quick.QuickStart = true
	return &quick
}

// Plan returns the plan that the loader runs.
func (l *Loader) Plan() *Plan { return l.plan }

// Scan returns the result of looking at the data files.
func (l *Loader) Scan() *Scan { return l.scan }

// Batches yields the batches in order, from the start of the data each time
// it is ranged over. A batch is valid until the next iteration; call
// [Batch.Keep] to hold on to it. An error is yielded last, with a nil batch.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return l.Run(ctx, nil)
}

// Run is [Loader.Batches] with options: the same batches from a saved state, or with
// states to go on from later. The run's events go to the loader's listener unless the
// options name another one.
func (l *Loader) Run(ctx context.Context, o *RunOptions) iter.Seq2[*Batch, error] {
	run := RunOptions{}
	if o != nil {
		run = *o
	}
	run.Source = l.plan.Path
	if run.Observe == nil {
		run.Observe = l.observe
	}
	return l.pipe.Run(ctx, l.session, &run)
}

// Pipeline builds the loader's plan into another graph, that of s: a loader is a source
// that a model of package estimator runs over. It does not use the loader's own graph
// and session.
func (l *Loader) Pipeline(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error) {
	return (&Source{Plan: l.plan, Scan: l.scan}).Pipeline(ctx, s)
}

// Filtered returns how many examples filters have not kept in the run so far: see
// [Pipeline.Filtered].
func (l *Loader) Filtered() int64 { return l.pipe.Filtered() }

// Close frees the session and the graph. It is idempotent; a loop that is
// still reading ends with an error.
func (l *Loader) Close() error {
	var errs []error
	if l.session != nil {
		errs = append(errs, l.session.Close())
	}
	if l.graph != nil {
		errs = append(errs, l.graph.Close())
	}
	err := errors.Join(errs...)
	if o := l.observe; o != nil && o.Closed != nil && !l.closed.Swap(true) {
		o.Closed(observe.Closed{Source: l.plan.Path, Duration: time.Since(l.opened), Err: err})
	}
	return err
}
