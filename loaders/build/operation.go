package build

import (
	"slices"

	"millrace"
	"millrace/graph/dataset"
	"millrace/loaders/build/batch"
	"millrace/loaders/build/chunked"
	"millrace/loaders/build/examples"
	"millrace/loaders/build/process"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/build/windows"
	"millrace/loaders/engine"
	"millrace/loaders/stage"
)

// # How a list of stages becomes a dataset
//
// The question: a plan is a list of stages in the order of their meaning. tf.data's
// datasets are not that list: one of our operations does the work of ten stages at
// once, records are shuffled before they are parsed, a batch is parsed as a whole.
// Package engine decides all that. How can the printed list still be what is built?
//
// The earlier design was a builder for each loader type, which asked the plan for its
// stages. A stage that no builder asked for was silently lost.
//
// The answer: Build walks the list. The first stage that is not built yet names the lines of
// the table below that begin with it. The first of those that applies builds that stage
// and others along with it, as the line says. These are struck out, and the walk goes to
// the next stage. So each stage of the list is built once, by a line that names it, or Build
// fails.
//
//	list       files read check parse window const slice shuffle repeat batch prefetch
//	windows    ^^^^^ ^^^^ ^^^^^ ^^^^^ ^^^^^^             ^^^^^^^ ^^^^^^
//	batches                                 ^^^^^ ^^^^^                 ^^^^^
//	prefetch                                                                  ^^^^^^^^
//
// A line must not change the order of the stages, unless it says that the result is the
// same: windows are shuffled before constants are added to them ("over"). A line that
// would jump over another stage does not apply. So a new stage is one more line, and no
// other line can build it at the wrong time.
type operation struct {
	begins kind                      // the stage that has to be the next one
	along  []kind                    // the stages that are built with it, as far as the plan has them
	over   []kind                    // stages before some of those, whose order does not matter
	when   func(*target.Target) bool // nil = always
	build  func(*target.Target, *dataset.Dataset) *dataset.Dataset

	// probe builds a dataset over one epoch that has an element if the loader gives a
	// batch at all, and ends if not. It returns nil if the dataset that build returns
	// ends by itself, although it is repeated without end. Only lines that begin a
	// pipeline have a probe.
	probe func(*target.Target, *dataset.Dataset) *dataset.Dataset
}

// kind is a set of types of stages.
type kind func(stage.Stage) bool

func of[S stage.Stage](s stage.Stage) bool { _, ok := s.(S); return ok }

// Sets of stages that lines of the table build.
var (
	reading    = []kind{of[stage.Read], of[stage.ReadByPlace], of[stage.Order], of[stage.Check]}
	mixing     = []kind{of[stage.Shuffle], of[stage.Repeat]}
	processing = []kind{process.Builds}
	batching   = []kind{of[stage.Batch]}
	bucketing  = []kind{of[stage.Bucket], of[stage.Batch]}
	rows       = []kind{of[stage.Chunks], of[stage.Output], of[stage.Budget]}
	parsing    = []kind{of[stage.Parse]}
	cutting    = []kind{of[stage.Parse], of[stage.Window]}
)

// operations has the ways to build stages. Lines that build the most stages come first.
var operations = []operation{
	// Rows of sequences: an epoch's end ends the last batch.
	{begins: of[stage.Files], along: join(reading, parsing, processing, rows, mixing), when: has[stage.Chunks],
		build: begin((*chunked.Builder).Batches, chunked.New), probe: begin((*chunked.Builder).Probe, chunked.New)},

	// Windows, and batches of the tensors made from them.
	{begins: of[stage.Files], along: join(reading, cutting, processing, mixing, batching), when: cutsFilesNatively,
		build: begin((*windows.Builder).Native, windows.New), probe: begin((*windows.Builder).Probe, windows.New)},
	{begins: of[stage.Files], along: join(reading, cutting, mixing), over: processing, when: has[stage.Window],
		build: begin((*windows.Builder).Stream, windows.New), probe: begin((*windows.Builder).Probe, windows.New)},
	{begins: anyOf(processing), along: processing, when: windowsSingly,
		build: onto((*windows.Builder).Singly, windows.New)},
	{begins: anyOf(join(processing, bucketing)), along: join(processing, bucketing), when: both(windowsTogether, has[stage.Bucket]),
		build: onto((*windows.Builder).Buckets, windows.New)},
	{begins: anyOf(join(processing, batching)), along: join(processing, batching), when: windowsTogether,
		build: onto((*windows.Builder).Batches, windows.New)},

	// Records.
	{begins: of[stage.Files], along: join(reading, parsing, processing, mixing, batching), when: readsFilesNatively,
		build: begin((*examples.Builder).Native, examples.New), probe: begin((*examples.Builder).Probe, examples.New)},
	{begins: of[stage.Files], along: join(reading, mixing), over: join(parsing, processing),
		build: begin((*examples.Builder).Stream, examples.New), probe: begin((*examples.Builder).Probe, examples.New)},
	{begins: of[stage.Parse], along: join(processing, batching), when: func(t *target.Target) bool { return engine.BatchesImages(t.Engine).Applied },
		build: onto((*examples.Builder).Images, examples.New)},
	{begins: of[stage.Parse], along: join(processing, bucketing), when: decodesNatively,
		build: onto((*examples.Builder).ParseNative, examples.New)},
	{begins: of[stage.Parse], along: join(processing, batching), when: func(t *target.Target) bool { return (t.Parse.Lists || !t.Filters()) && t.Engine.RaggedRows().Applied },
		build: onto((*examples.Builder).Ragged, examples.New)},
	{begins: of[stage.Parse], along: join(processing, batching), when: func(t *target.Target) bool { return t.Engine.ParseBatches().Applied },
		build: onto((*examples.Builder).Groups, examples.New)},
	{begins: of[stage.Parse], along: processing, build: onto((*examples.Builder).Parsed, examples.New)},
	{begins: of[stage.Bucket], along: batching, build: onto((*batch.Batcher).Buckets, batch.New)},
	{begins: of[stage.Batch], build: onto((*batch.Batcher).Examples, batch.New)},

	{begins: of[stage.Own], build: own},
	{begins: of[stage.BatchSteps], build: onto((*process.Processor).BatchSteps, process.New)},
	{begins: of[stage.Prefetch], build: prefetch},
}

// begin makes the function of a line that begins a pipeline, from a method and a
// function that makes its receiver.
func begin[B any](method func(B) *dataset.Dataset, of func(*target.Target) B) func(*target.Target, *dataset.Dataset) *dataset.Dataset {
	return func(t *target.Target, _ *dataset.Dataset) *dataset.Dataset { return method(of(t)) }
}

// onto makes the function of a line that continues a dataset.
func onto[B any](method func(B, *dataset.Dataset) *dataset.Dataset, of func(*target.Target) B) func(*target.Target, *dataset.Dataset) *dataset.Dataset {
	return func(t *target.Target, d *dataset.Dataset) *dataset.Dataset { return method(of(t), d) }
}

func join(kinds ...[]kind) []kind { return slices.Concat(kinds...) }

func anyOf(kinds []kind) kind {
	return func(s stage.Stage) bool { return slices.ContainsFunc(kinds, func(k kind) bool { return k(s) }) }
}

func has[S stage.Stage](t *target.Target) bool { return slices.ContainsFunc(t.Stages, of[S]) }

func both(f, g func(*target.Target) bool) func(*target.Target) bool {
	return func(t *target.Target) bool { return f(t) && g(t) }
}

func decodesNatively(t *target.Target) bool { return t.Engine.Native().Applied }

func readsFilesNatively(t *target.Target) bool { return examples.New(t).ReadsFiles() }

// windowsSingly reports whether windows are processed one by one.
func windowsSingly(t *target.Target) bool { return has[stage.Window](t) && t.StepsSingly() }

// windowsTogether reports whether windows are processed in batches.
func windowsTogether(t *target.Target) bool { return has[stage.Window](t) && !t.StepsSingly() }

// cutsFilesNatively reports whether one operation reads files and cuts windows.
func cutsFilesNatively(t *target.Target) bool {
	return has[stage.Window](t) && decodesNatively(t) && (t.Shuffling == nil || t.Engine.ComputesBuffers())
}

// prefetch makes batches before the loop requests them. If the run prefetches itself, a
// value fed by the run gives the number that tf.data makes.
func prefetch(t *target.Target, d *dataset.Dataset) *dataset.Dataset {
	if t.Engine.RunPrefetches() {
		return d.PrefetchOutput(t.Prefetch)
	}
	p, _ := stage.Find[stage.Prefetch](t.Stages)
	return d.Prefetch(p.Batches)
}

// own adds the stage that only the config's loader type has.
func own(t *target.Target, d *dataset.Dataset) *dataset.Dataset {
	o, _ := stage.Find[stage.Own](t.Stages)
	return o.Stage.Build(d)
}

// takes returns the stages of a list that the line builds if stage i is the next one,
// and whether it can build them. It cannot if it would skip a stage that it does not
// know.
func (o *operation) takes(list []stage.Stage, i int, built []bool) (taken []bool, ok bool) {
	taken, jumps := make([]bool, len(list)), false
	taken[i] = true
	for j := i + 1; j < len(list); j++ {
		switch {
		case built[j]:
		case anyOf(o.along)(list[j]):
			if taken[j] = true; jumps {
				return nil, false
			}
		case !anyOf(o.over)(list[j]):
			jumps = true
		}
	}
	return taken, true
}

// step is a line of the table that applies to a list of stages, and the stages it builds.
type step struct {
	*operation
	builds []stage.Stage
}

// route returns the steps that build all stages by the lines of a table, in order.
func route(t *target.Target, table []operation) (steps []step, err error) {
	built := make([]bool, len(t.Stages))
	for i := range t.Stages {
		if built[i] {
			continue
		}
		o, taken := next(t, table, i, built)
		if o == nil {
			return nil, millrace.Errorf(millrace.ErrInternal, "nothing builds the stage %q here", t.Stages[i].Explain().Name)
		}
		s := step{operation: o}
		for j := range taken {
			if taken[j] {
				built[j], s.builds = true, append(s.builds, t.Stages[j])
			}
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// next returns the line of the table that builds stage i, the first one that is not built,
// and which stages it builds. It returns nil if no line applies.
func next(t *target.Target, table []operation, i int, built []bool) (*operation, []bool) {
	for k := range table {
		o := &table[k]
		if !o.begins(t.Stages[i]) || o.when != nil && !o.when(t) {
			continue
		}
		if taken, ok := o.takes(t.Stages, i, built); ok {
			return o, taken
		}
	}
	return nil, nil
}

// build builds all stages.
func build(t *target.Target, steps []step) (d *dataset.Dataset) {
	batched := 1 + slices.IndexFunc(steps, func(s step) bool { return slices.ContainsFunc(s.builds, isBatch) })
	if batched == 0 {
		return extend(t, nil, steps)
	}
	batches := func(t *target.Target) *dataset.Dataset { return extend(t, nil, steps[:batched]) }
	if b, ok := stage.Find[stage.Batch](t.Stages); ok && b.Within {
		d = (&source.Epochs{Target: t}).Each(batches)
	} else {
		d = batches(t)
	}
	return extend(t, resume(t, d), steps[batched:])
}

// extend continues a dataset by steps.
func extend(t *target.Target, d *dataset.Dataset, steps []step) *dataset.Dataset {
	for _, s := range steps {
		d = s.build(t, d)
	}
	return d
}

func isBatch(s stage.Stage) bool { return of[stage.Batch](s) || of[stage.Budget](s) }

// resume skips the batches that a run delivered before, if it can begin only at the
// start.
func resume(t *target.Target, d *dataset.Dataset) *dataset.Dataset {
	if t.Engine.Seeks() || t.Engine.Replays() || t.FromStart() {
		return d
	}
	return d.SkipOutput(t.Skip)
}
