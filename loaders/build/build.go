package build

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/engine"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/loaders/stage"
	"millrace/loaders/stage/check"
	"millrace/loaders/stage/order"
	"millrace/remote"
	"millrace/tfbridge"
)

// Build adds the plan's dataset and an iterator over it to the graph of s. The
// scan tells how many records to expect, so that a file that TensorFlow takes
// for a shorter one is an error.
func Build(s *graph.Scope, p *plan.Plan, scan *plan.Scan) (*Parts, error) {
	if err := needNative(p); err != nil {
		return nil, err
	}
	t := newTarget(s.SubScope("loader"), p, scan)
	t.Skipped, t.Passed = check.NewQuarantine(p.Spec, p.Quarantine, scan), &quarantine.Positions{}
	skipsByStep(t, p)
	if err := startWorker(t); err != nil {
		return nil, err
	}
	d, err := datasetOf(t)
	if err != nil {
		return nil, fail(p, err)
	}
	d = d.Finalize()
	parts := &Parts{Plan: p, Scan: scan, Feeds: t.Feeds, Dataset: d, Iterator: d.Iterator("iterator"), Quarantine: t.Skipped, Passed: t.Passed}
	if parts.Probe, err = probe(t, p); err != nil {
		return nil, fail(p, err)
	}
	if parts.Report, err = report(t); err != nil {
		return nil, fail(p, err)
	}
	parts.Checks = t.Checks(p.Path)
	at := t.Service()
	if at != nil {
		parts.BlockRows, parts.ServiceAddress = engine.BlockRows(t.Engine, scan), t.ServiceAddress
	}
	if (at == nil || !at.AnyOrder) && !has[stage.Window](t) && !has[stage.Chunks](t) && !t.Filters() {
		parts.Place = func(first, rows int64) string { return order.Place(p.Spec, scan, first, rows) }
	}
	if err := s.Err(); err != nil {
		return nil, fail(p, err)
	}
	parts.fetch(s, t)
	if err := s.Err(); err != nil {
		return nil, fail(p, err)
	}
	parts.Files = remote.Default.Use(engine.FilesInStores(p.Engine()))
	s.Graph().OnClose(parts.Files.Close)
	return parts, nil
}

// datasetOf adds the dataset of all stages.
func datasetOf(t *target.Target) (*dataset.Dataset, error) {
	t.AddFeeds()
	d, err := stagesOf(t)
	if err != nil {
		return nil, err
	}
	if t.Fixed != nil && t.Fixed.SkipBatches > 0 {
		d = d.Skip(t.Fixed.SkipBatches)
	}
	// The plan has chosen the stages and their parallelism: TensorFlow's
	// rewrites found nothing more to do in these graphs, and cost tens of
	// milliseconds before the first batch; its autotuner cost a tenth of the
	// speed (docs/performance.md). Without it there are no times of stages.
	d = d.WithOptions(&dataset.Options{Sloppy: t.Parse.Sloppy, NoAutotune: !t.Engine.Timed, NoOptimization: true})
	return d, t.Scope.Err()
}

// stagesOf adds the dataset of all stages without options.
func stagesOf(t *target.Target) (*dataset.Dataset, error) {
	if at := t.Service(); at != nil {
		return servedBlocks(t, at)
	}
	steps, err := route(t, operations)
	if err != nil {
		return nil, err
	}
	return build(t, steps), nil
}

// newTarget returns the graph of s for the stages of a plan.
func newTarget(s *graph.Scope, p *plan.Plan, scan *plan.Scan) *target.Target {
	t := target.New(s, p.Stages(), p.Engine())
	t.Scan, t.Spec, t.Seed = scan, p.Spec, p.Seed
	return t
}

// probe adds the iterator [Parts.Probe]. A loader over files without records, or
// too short for a window, would look for the first one in every epoch. Files that
// Go can read are measured by [plan.Plan.Scan]; for others the probe looks for it
// before the first batch.
func probe(t *target.Target, p *plan.Plan) (*dataset.Iterator, error) {
	if t.Repeat.Epochs == 0 && t.Filters() {
		return probeFilter(t, p)
	}
	if t.Repeat.Epochs == 1 || !t.Files.Remote() {
		return nil, nil
	}
	if has[stage.Window](t) {
		p = p.FirstWindow()
	}
	first := newTarget(t.Scope.SubScope("probe"), p, t.Scan)
	first.Group = t.Group
	steps, err := route(first, operations)
	if err != nil {
		return nil, err
	}
	d := steps[0].probe(first, nil)
	if d == nil {
		return nil, nil
	}
	return d.Take(1).Iterator("iterator"), nil
}

// probeFilter adds an iterator over the first example that filters keep in one epoch. An endless
// loader whose filters keep none would look for it for ever.
func probeFilter(t *target.Target, p *plan.Plan) (*dataset.Iterator, error) {
	p = plan.FirstEpoch(p)
	first := newTarget(t.Scope.SubScope("probe"), p, t.Scan)
	first.Fixed = &target.Fixed{Group: p.Engine().GroupSize(t.Scan)}
	first.Skipped, first.Passed, first.StepCheck = t.Skipped, &quarantine.Positions{}, t.StepCheck
	d, err := datasetOf(first)
	if err != nil {
		return nil, err
	}
	return d.Take(1).Iterator("iterator"), nil
}

// fail explains a failure of graph building: the checker should have refused
// the config first.
func fail(p *plan.Plan, err error) error {
	e := millrace.Errorf(millrace.ErrInternal, "build the input pipeline: %w", err)
	e.Loader = p.Path
	return e
}

// Numbers are the numbers of the examples of a plan; see [source.Numbers].
type Numbers = source.Numbers

// NewNumbers adds the numbers of a plan's examples to a graph. The plan must be one that
// [order.CheckPlaces] accepts.
func NewNumbers(g *tfbridge.Graph, p *plan.Plan, scan *plan.Scan) (*Numbers, error) {
	t := newTarget(graph.NewScopeWithGraph(g), p, scan)
	numbers := source.NewNumbers(t)
	if err := t.Scope.Err(); err != nil {
		return nil, fail(p, err)
	}
	return numbers, nil
}

// needNative checks that the library that the plan was made with is there, or
// that the plan does without one.
func needNative(p *plan.Plan) error {
	if engine.NeedsFileSystems(p.Engine()) {
		if err := tfbridge.RegisterFileSystems(); err != nil {
			return err
		}
	}
	if !p.Engine().Own {
		return p.Engine().RefuseRemote()
	}
	path, err := native.Library()
	if err == nil && path == "" {
		err = millrace.Errorf(millrace.ErrRuntime,
			"the library %s was there when the config was checked and is not for the runtime that was opened", millrace.Quote(p.NativeLibrary))
	}
	return err
}
