package loaders

import (
	"context"
	"errors"
	"iter"

	"millrace/graph"
	"millrace/graph/steps"
	"millrace/tfbridge"

	"golang.org/x/sync/errgroup"
)

// Options holds what [Open] and [OpenPlan] can be told. Nil means the
// defaults.
type Options struct {
	Check   *CheckOptions            // how the config is checked
	Runtime *tfbridge.RuntimeOptions // where TensorFlow is; used by the first open of the process
	Session *tfbridge.SessionOptions // threads and devices
	Scan    *Scan                    // of the plan, as [Prepare] gives it with a context; nil: OpenPlan scans
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
}

// Open checks a loader config and opens its dataset. The error of a config
// with problems is a [diag.List] of all of them.
func Open(path string, o *Options) (*Loader, error) {
	var check *CheckOptions
	if o != nil {
		check = o.Check
	}
	plan, problems := Check(path, check)
	if plan == nil {
		return nil, problems
	}
	return OpenPlan(plan, o)
}

// OpenPlan opens a checked plan: it looks at every local data file, opens
// TensorFlow at the same time, and builds the graph.
func OpenPlan(p *Plan, o *Options) (*Loader, error) {
	if o == nil {
		o = &Options{}
	}
	scan := o.Scan
	if scan == nil {
		var err error
		if scan, err = Prepare(context.Background(), p, o.Runtime); err != nil {
			return nil, err
		}
	}
	l := &Loader{plan: p, scan: scan}
	if err := l.build(o.Session); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Prepare scans a plan's files while TensorFlow is being opened, which takes
// about as long.
func Prepare(ctx context.Context, p *Plan, runtime *tfbridge.RuntimeOptions) (*Scan, error) {
	var scan *Scan
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		scan, err = p.Scan(ctx)
		return err
	})
	group.Go(func() error {
		_, err := tfbridge.Open(runtime)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return scan, nil
}

func (l *Loader) build(session *tfbridge.SessionOptions) error {
	l.graph = tfbridge.NewGraph()
	pipe, err := Build(graph.NewScopeWithGraph(l.graph), l.plan, l.scan)
	if err != nil {
		return err
	}
	l.pipe = pipe
	l.session, err = tfbridge.NewSession(l.graph, session)
	return err
}

// Plan returns the plan that the loader runs.
func (l *Loader) Plan() *Plan { return l.plan }

// Scan returns what was found in the data files.
func (l *Loader) Scan() *Scan { return l.scan }

// Batches yields the batches in order, from the start of the data each time
// it is ranged over. A batch is valid until the next iteration; call
// [Batch.Keep] to hold on to it. An error is yielded last, with a nil batch.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return l.pipe.Run(ctx, l.session, nil)
}

// Run is [Loader.Batches] with options: the same batches from a saved state,
// or with states to go on from later.
func (l *Loader) Run(ctx context.Context, o *RunOptions) iter.Seq2[*Batch, error] {
	return l.pipe.Run(ctx, l.session, o)
}

// Pipeline builds the loader's plan into another graph, that of s: a loader is
// a source that a model of package estimator runs over. The loader's own graph
// and session play no part in it.
func (l *Loader) Pipeline(ctx context.Context, s *graph.Scope) (*steps.Pipeline, error) {
	return (&Source{Plan: l.plan, Scan: l.scan}).Pipeline(ctx, s)
}

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
	return errors.Join(errs...)
}
