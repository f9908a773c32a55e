package dataset

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"millrace/graph"
	"millrace/tfbridge"
)

// Debug mode answers two questions: what does each stage of a pipeline make of an element,
// and which stage failed? TensorFlow's errors name nodes of rewritten graphs, so Millrace
// keeps its own account. Between two stages it puts a tap, made of datasets that tf.data
// has anyway and of calls of Go:
//
//	Range ── ask ──┐
//	stage ── Zip ──┴─ Map: produced ── Concatenate ── next stage
//	                                       └─ FlatMap: ended, of no elements
//
// Zip reads its inputs in order. So Go hears that a stage is asked for an element, then
// whatever the stages below it do, and then that it has produced one or ended. All stages
// run in turn, so these calls nest like those of functions. A stage that was asked and
// has not answered is on a stack, and when a run fails the top of the stack is the stage
// that failed.
//
// A stage is a call in the user's program: what one call such as MakeCSVDataset consists
// of has no taps in between.

// DebugOptions are the options of [WithDebugMode]. Nil means the zero value.
type DebugOptions struct {
	// Element is called with each element that a stage has produced, before the next
	// stage has it. An error fails the run. Iterators that are used at once call it at once.
	Element func(*DebugElement) error
}

// DebugElement is an element that a stage of a pipeline in debug mode has produced.
type DebugElement struct {
	Stage  DebugStage
	Number int64      // number of elements that the stage produced before, in all iterators
	Spec   *Structure // structure of the element

	// Tensors are the element as [Dataset.All] yields it, valid until DebugOptions.Element
	// returns. They are nil if a part is one that Go cannot read, such as a dataset.
	Tensors []*tfbridge.Tensor
}

// DebugStage is a call that made a dataset.
type DebugStage struct {
	Name string // function or method: "Map"
	File string // where the program calls it
	Line int
}

// String returns the stage as "Map at pipeline.go:12".
func (s DebugStage) String() string {
	return fmt.Sprintf("%s at %s:%d", s.Name, filepath.Base(s.File), s.Line)
}

// PrintElements returns a listener for [DebugOptions] that prints a line for each element,
// long ones shortened:
//
//	Map at pipeline.go:12 [0] map[id:5 word:x]
func PrintElements(w io.Writer) func(*DebugElement) error {
	const longest = 200 // characters
	return func(e *DebugElement) error {
		text := e.Spec.String()
		if e.Tensors != nil {
			var v any
			if err := Decode(e.Spec, e.Tensors, &v); err != nil {
				return err
			}
			text = fmt.Sprintf("%v", v)
		}
		if runes := []rune(text); len(runes) > longest {
			text = string(runes[:longest]) + "…"
		}
		_, err := fmt.Fprintf(w, "%v [%d] %s\n", e.Stage, e.Number, text)
		return err
	}
}

// WithDebugMode returns a scope of the same graph and prefix whose datasets are made for
// debugging, those in functions too. It is what tf.data.experimental.enable_debug_mode is
// in Python:
//
//	s := dataset.WithDebugMode(graph.NewScope(), &dataset.DebugOptions{Element: dataset.PrintElements(os.Stderr)})
//
// Nothing runs in parallel or ahead, and TensorFlow neither rewrites the pipeline nor
// tunes it: parallelism, prefetching and those [Options] that only affect speed are
// ignored. The order is that of a pipeline that is not Sloppy. o.Element sees each
// element of each stage. The error of [Dataset.All], [Iterate] and their like names the
// stage that failed, with its line in the program, as long as one iterator runs at a
// time.
//
// A pipeline in debug mode is slow. Its iterators cannot be saved, its datasets do not know
// their [Dataset.Cardinality], and [Dataset.At] fails. Operations that are one stage, such
// as those of package native and [FromSeq], keep the threads within them.
func WithDebugMode(s *graph.Scope, o *DebugOptions) *graph.Scope {
	if o == nil {
		o = &DebugOptions{}
	}
	return s.WithValue(debugKey{}, &debugMode{element: o.Element})
}

type debugKey struct{}

// debugMode is the state that all stages of one [WithDebugMode] share.
type debugMode struct {
	element func(*DebugElement) error

	mu   sync.Mutex
	open []*debugStage // stages that were asked and have not answered, the innermost last
}

// debugOf returns the debug mode of a scope, or nil.
func debugOf(s *graph.Scope) *debugMode {
	m, _ := s.Value(debugKey{}).(*debugMode)
	return m
}

// debugStage is a stage and its history.
type debugStage struct {
	DebugStage
	mode     *debugMode
	call     uintptr // program counter of the user's call
	produced int64
}

// stage returns the stage under construction, or nil outside of debug mode.
func (m *debugMode) stage() *debugStage {
	if m == nil {
		return nil
	}
	frame, name := userCall()
	return &debugStage{DebugStage: DebugStage{Name: name, File: frame.File, Line: frame.Line}, mode: m, call: frame.PC}
}

// userCall returns the innermost call on the stack of a function of packages graph and
// graph/dataset by another package, and the function's name.
func userCall() (caller runtime.Frame, name string) {
	const packages = "millrace/graph"
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, more := frames.Next()
		rest, ours := strings.CutPrefix(frame.Function, packages)
		ours = ours && (rest[0] == '.' || strings.HasPrefix(rest, "/dataset.") || strings.HasPrefix(rest, "/dataset/"))
		if !ours {
			return frame, name
		}
		name, _, _ = strings.Cut(frame.Function[strings.LastIndexByte(frame.Function, '/')+1:], "[")
		name = strings.TrimPrefix(name[strings.IndexByte(name, '.')+1:], "(*Dataset).")
		if !more {
			return runtime.Frame{}, name
		}
	}
}

// ask records that a stage is asked for an element. Stages that were opened inside it
// have ended without an answer.
func (s *debugStage) ask() {
	s.mode.mu.Lock()
	defer s.mode.mu.Unlock()
	s.mode.open = append(s.mode.without(s), s)
}

// answer records that a stage has produced an element or ended, and returns the number of
// elements before that.
func (s *debugStage) answer(elements int64) int64 {
	s.mode.mu.Lock()
	defer s.mode.mu.Unlock()
	s.mode.open = s.mode.without(s)
	s.produced += elements
	return s.produced - elements
}

// without returns the open stages outside of a stage.
func (m *debugMode) without(s *debugStage) []*debugStage {
	if i := slices.Index(m.open, s); i >= 0 {
		return m.open[:i]
	}
	return m.open
}

// blame adds the failed stage to the error of a run.
func (m *debugMode) blame(err error) error {
	if m == nil || err == nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.open) == 0 {
		return err
	}
	failed := m.open[len(m.open)-1]
	m.open = nil
	return fmt.Errorf("%v, after %d elements: %w", failed, failed.produced, err)
}

// read returns the variant of d for an operation that reads its elements. In debug mode it
// is the variant of a dataset with a tap.
func (d *Dataset) read() tfbridge.Output {
	if d.stage == nil || d.scope.Err() != nil {
		return d.variant
	}
	if call, _ := userCall(); call.PC == d.stage.call {
		return d.variant // d is part of the same stage
	}
	return d.stage.tap(d).variant
}

// untuned returns d without TensorFlow's own optimizations.
func (d *Dataset) untuned() *Dataset {
	return d.WithOptions(&Options{NoAutotune: true, NoOptimization: true, Rewrites: Rewrites{
		FilterFusion: Off, FilterParallelization: Off, InjectPrefetch: Off, MapAndBatchFusion: Off, MapAndFilterFusion: Off,
		MapFusion: Off, MapParallelization: Off, NoopElimination: Off, ShuffleAndRepeatFusion: Off,
	}})
}

// tap returns a dataset of the elements of d that reports each one; see above.
func (s *debugStage) tap(d *Dataset) *Dataset {
	plain := d.In(d.scope.WithValue(debugKey{}, nil))
	plain.stage = nil
	asked := Range(plain.scope, 0, math.MaxInt64, 1).Map("ask", func(scope *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		s.callGo(scope, "ask", nil, func([]*tfbridge.Tensor) error { s.ask(); return nil })
		return args
	}, nil)
	produced := Zip(plain.scope, asked, plain).Map("produced", func(scope *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		s.callGo(scope, "produced", readable(scope, d.Spec(), args[1:]), func(element []*tfbridge.Tensor) error {
			e := &DebugElement{Stage: s.DebugStage, Number: s.answer(1), Spec: d.Spec(), Tensors: element}
			if s.mode.element == nil {
				return nil
			}
			return s.mode.element(e)
		})
		return args[1:]
	}, nil)
	ended := Range(plain.scope, 0, 1, 1).FlatMap("ended", func(scope *graph.Scope, _ []tfbridge.Output) *Dataset {
		s.callGo(scope, "ended", nil, func([]*tfbridge.Tensor) error { s.answer(0); return nil })
		return plain.In(scope).Take(0)
	})
	return produced.Concatenate(ended)
}

// callGo adds a call of a Go function without results.
func (s *debugStage) callGo(scope *graph.Scope, name string, args []tfbridge.Output, fn func([]*tfbridge.Tensor) error) {
	graph.GoFunction(scope, graph.GoFunc{Name: name, Fn: func(_ context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
		if len(args) == 0 {
			args = nil
		}
		return nil, fn(args)
	}}, args...)
}

// readable returns the tensors that components represent, or nil if Go cannot read them
// all.
func readable(s *graph.Scope, t *Structure, components []tfbridge.Output) []tfbridge.Output {
	tensors := t.expand(s, components)
	for _, p := range graph.SpecsOf(tensors) {
		if p.DType == tfbridge.Variant || p.DType == tfbridge.Resource {
			return nil
		}
	}
	return tensors
}
