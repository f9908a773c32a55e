// Package target holds the graph that a plan is added to: its scope, the values that a
// run feeds into it, and what its assertions mean. The packages that build stages share
// one.
//
//	t, err := target.New(s.SubScope("loader"), plan.Stages(), plan.Engine())
//	for _, c := range stage.All[stage.Constant](t.Stages) {
//		…
//	}
package target

import (
	"runtime"
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/feed"
	"millrace/loaders/engine"
	"millrace/loaders/processing"
	"millrace/loaders/quarantine"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// Target is a graph that one plan is added to. TensorFlow checks every operation as it
// is added; the first failure sticks to the scope.
type Target struct {
	Scope  *graph.Scope
	Stages []stage.Stage
	Engine engine.Choice
	Scan   *scan.Scan
	Spec   *spec.Spec // what packages order and check need
	Seed   int64

	// Fields of Stages that all packages need.
	Files      stage.Files
	Reading    stage.Reading
	Parse      stage.Parse
	Repeat     stage.Repeat
	Out        stage.Padded
	Read       stage.Read     // zero if records are read by position
	Shuffling  *stage.Shuffle // a shuffle of records or windows; nil = off
	ByPosition bool           // records are read by their positions

	Feeds
	Skipped *quarantine.List      // takes bad records; nil: the first one is an error
	Passed  *quarantine.Positions // positions of the skipped records, where the plan seeks

	// StepCheck returns an error for a record that a processing step cannot be carried out on.
	// It is nil where nobody asks before a record is handed over.
	StepCheck func(record []byte) error

	// Fixed are the values of Feeds, if no run feeds them.
	Fixed *Fixed

	// ServiceAddress is where the dispatcher of [Target.Service] listens.
	ServiceAddress string

	// Stop is the position after the last record, an int64 scalar; unset: all records from Skip
	// on come. RecordLengths has the lengths of all records; unset: [source.Records.Lengths] finds
	// them.
	Stop, RecordLengths tfbridge.Output

	// Epoch is the number of the only epoch whose elements are built, an int64 scalar; unset: all
	// epochs are. Before is how many examples a filter saw in the epochs before it, since the
	// iterator began.
	Epoch, Before tfbridge.Output

	outer *Target // where processing steps prepare; nil: here

	// Requests says that the records come in requests, and not from files.
	Requests bool

	// Portable says that the graph runs where Go is not: bytes are decoded without the checks
	// of package bytecheck, which whoever runs the graph has to make.
	Portable bool

	// Order says which component of a batch is which tensor, where parsing decides the
	// order of the components; nil: the order of the tensors.
	Order []int

	prepared map[int]any                   // what processing steps need beside their functions
	once     map[onceKey][]tfbridge.Output // results of [Target.Once]

	checks []check // indexed by the number in the message of a failed assertion
}

// Feeds are the values that a run feeds to the operation that starts its iterator, int64
// scalars but for Held and Blocks.
type Feeds struct {
	Group    tfbridge.Output // records parsed at once, or rows of an element where [engine.Choice.JoinsBatches]
	Skip     tfbridge.Output // elements skipped at the start, or records where [engine.Choice.Seeks]; the first number where [engine.Choice.Replays]
	Held     tfbridge.Output // a vector of the positions of the records that come first; unset unless [engine.Choice.HoldsPositions]. With a data service: begin and end of each part of the order before Skip that comes
	Blocks   tfbridge.Output // a vector of the numbers of the blocks of these parts; unset without a data service
	Prefetch tfbridge.Output // elements that tf.data prepares ahead, where [engine.Choice.RunPrefetches]
}

// New returns a target for the stages of a config. The caller fills in the exported
// fields that records from files need.
func New(s *graph.Scope, list []stage.Stage, e engine.Choice) *Target {
	t := &Target{Scope: s, Stages: list, Engine: e}
	t.Files, _ = stage.Find[stage.Files](list)
	t.Parse, _ = stage.Find[stage.Parse](list)
	t.Repeat, _ = stage.Find[stage.Repeat](list)
	if r, ok := stage.Find[stage.Read](list); ok {
		t.Read, t.Reading = r, r.Reading
	} else if r, ok := stage.Find[stage.ReadByPlace](list); ok {
		t.Reading, t.ByPosition = r.Reading, true
	}
	if b, ok := stage.Find[stage.Batch](list); ok {
		t.Out = b.Padded
	} else if b, ok := stage.Find[stage.Budget](list); ok {
		t.Out = b.Padded
	}
	for _, x := range stage.All[stage.Shuffle](list) {
		if x.Of == stage.OfRecords || x.Of == stage.OfWindows {
			t.Shuffling = &x
		}
	}
	return t
}

// Inner returns t for a function of t's graph, whose scope is s.
func (t *Target) Inner(s *graph.Scope) *Target {
	inner := *t
	inner.Scope, inner.outer = s, t
	return &inner
}

// AddFeeds adds the placeholders of the values that a run feeds, or the values of t.Fixed.
func (t *Target) AddFeeds() {
	if t.Fixed != nil {
		t.addFixed()
		return
	}
	scalar := tfbridge.ScalarShape()
	t.Group = t.Scope.Placeholder(tfbridge.Int64, scalar)
	t.Skip = t.Scope.Placeholder(tfbridge.Int64, scalar)
	t.Prefetch = t.Scope.Placeholder(tfbridge.Int64, scalar)
	if t.Service() != nil {
		t.Blocks = t.Scope.Placeholder(tfbridge.Int64, tfbridge.MakeShape(-1))
	}
	if t.Service() != nil || t.Engine.HoldsPositions() {
		t.Held = t.Scope.Placeholder(tfbridge.Int64, tfbridge.MakeShape(-1))
	}
}

// MapOptions returns how parsing runs: its parallelism, and whether batches
// may overtake each other.
//
// The operations of an example are not run in one thread, although that takes a third of the
// time from small steps: TensorFlow's executor for one thread has no Switch, by which steps choose, and
// waits for Case and other operations with functions while it holds the thread that these need.
// With as many examples as threads, all wait for ever.
func (t *Target) MapOptions() *dataset.MapOptions {
	if t.Parse.Parallel == 1 && t.StepsSingly() {
		return &dataset.MapOptions{Parallel: min(int64(runtime.NumCPU()), maxParallel), Sloppy: t.Parse.Sloppy}
	}
	return &dataset.MapOptions{Parallel: t.Parse.Parallel, Sloppy: t.Parse.Sloppy}
}

// maxParallel is how many examples are processed at the same time unless the config says
// how many. Each takes memory.
const maxParallel = 16

// StepsSingly reports whether a processing step sees examples one at a time.
func (t *Target) StepsSingly() bool {
	steps := func(yield func(spec.Step) bool) {
		for _, s := range stage.All[stage.Step](t.Stages) {
			if !yield(s.Step) {
				return
			}
		}
	}
	return spec.FirstSingle(steps, t.Parse.Lists, has[stage.Window](t.Stages) || has[stage.Bucket](t.Stages), has[stage.Chunks](t.Stages)) != nil
}

// MakesRows reports whether a processing step makes rows of a batch that differ in length.
func (t *Target) MakesRows() bool {
	return slices.ContainsFunc(stage.All[stage.Step](t.Stages), func(s stage.Step) bool { return s.MakesRows() })
}

// Filters reports whether a processing step keeps some of the examples.
func (t *Target) Filters() bool {
	return slices.ContainsFunc(stage.All[stage.Step](t.Stages), func(s stage.Step) bool { return s.Filters() })
}

// Draws reports whether a processing step draws random numbers.
func (t *Target) Draws() bool {
	return slices.ContainsFunc(stage.All[stage.Step](t.Stages), func(s stage.Step) bool { return s.Random })
}

// has reports whether a list has a stage of a type.
func has[S stage.Stage](list []stage.Stage) bool {
	_, ok := stage.Find[S](list)
	return ok
}

// Prepare returns what a processing step needs outside of the functions that carry it out, and
// adds it with the first call. index is the place of the step in the config.
func (t *Target) Prepare(index int, step processing.Prepared) any {
	if t.outer != nil {
		return t.outer.Prepare(index, step)
	}
	x, ok := t.prepared[index]
	if !ok {
		if t.prepared == nil {
			t.prepared = map[int]any{}
		}
		x = step.Prepare(t.Site(t.Scope))
		t.prepared[index] = x
	}
	return x
}

// Site returns where a step is built.
func (t *Target) Site(s *graph.Scope) *processing.Site {
	return &processing.Site{Scope: s, Portable: t.Portable, NoGo: t.Fixed != nil, DecodeLimit: t.Parse.DecodeLimit, Once: t.Once}
}

// onceKey is what [Target.Once] distinguishes results by.
type onceKey struct {
	key any
	x   tfbridge.Output
}

// Once returns what the first call with a key and a tensor returned. A tensor belongs to one graph,
// and so do the results.
func (t *Target) Once(key any, x tfbridge.Output, add func() []tfbridge.Output) []tfbridge.Output {
	made, ok := t.once[onceKey{key, x}]
	if !ok {
		if t.once == nil {
			t.once = map[onceKey][]tfbridge.Output{}
		}
		made = add()
		t.once[onceKey{key, x}] = made
	}
	return made
}

// Inline is how small functions are called.
func Inline() *dataset.MapOptions { return &dataset.MapOptions{Inline: true} }

// Feed returns the Go functions that provide the records.
func (t *Target) Feed() *feed.Source {
	s := &feed.Source{
		Files: t.Files.List, Compression: t.Reading.Compression, BufferBytes: t.Reading.BufferBytes, Epochs: t.Repeat.Epochs,
		Spec: t.Spec, Engine: t.Engine, Scan: t.Scan, Skipped: t.Skipped, Passed: t.Passed, Draws: t.Draws(), Located: t.Draws() && !has[stage.Window](t.Stages), Steps: t.StepCheck,
	}
	return s
}

// CountedFiles returns the paths of the files and the numbers of their records.
func (t *Target) CountedFiles() (paths []string, counts []int64) {
	for i, f := range t.Files.List {
		paths, counts = append(paths, tfbridge.FileSystemPath(f.Path)), append(counts, t.Scan.Count(i))
	}
	return paths, counts
}

// Located returns the options for records that carry their places.
func (t *Target) Located(s *graph.Scope) native.DecodeOptions {
	if t.Requests {
		return native.DecodeOptions{}
	}
	paths, _ := t.CountedFiles()
	return native.DecodeOptions{PlacedFiles: s.Const(paths)}
}

// JoinedSize returns the number of rows of an element if a run may take several batches
// in one, or a filter makes batches of what is left of it. Otherwise it returns no output.
func (t *Target) JoinedSize() tfbridge.Output {
	if t.Filters() || t.Fixed == nil && t.Engine.JoinsBatches() {
		return t.Group
	}
	return tfbridge.Output{}
}

// Constant adds a scalar of a dtype. The value is one that the dtype holds.
func Constant(s *graph.Scope, value any, dtype tfbridge.DataType) tfbridge.Output {
	return graph.Cast(s, s.Const(value), dtype)
}

// ElementShape returns a shape with leading dimensions in front of it.
func ElementShape(lead, shape []int64) tfbridge.Shape {
	return tfbridge.MakeShape(append(append([]int64{}, lead...), shape...)...)
}

// Int64Vector returns a vector that is a constant even when it is empty.
func Int64Vector(v []int64) []int64 { return append(make([]int64, 0, len(v)), v...) }
