package tfbridge

// #include "capi.h"
import "C"

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/wire"
)

// waitingTypes are parts of the names of operation types that may wait for another run,
// or run forever.
var waitingTypes = []string{"Queue", "Barrier", "Stage", "Stack", "Reader", "Accumulator", "While", "LoopCond", "PartitionedCall", "If", "Case", "For"}

// iteratorTypes is a part of the names of operation types that read an
// iterator. Interrupting such a run spoils the iterator for good.
const iteratorTypes = "Iterator"

// loopTypes are the operation types whose number of iterations depends on the data.
// loopParts are parts of the names of further such types.
var (
	loopTypes = []string{"While", "StatelessWhile", "For", "LoopCond"}
	loopParts = []string{"Dataset", "Iterator"}
)

// blockingParts are parts of the names of operation types that wait for another
// run, or for a Go function.
var blockingParts = []string{"Queue", "Barrier", "Stage", "Accumulator", "Reader", "MillraceGo"}

// hazards describe why a run may not end.
type hazards struct {
	loops bool // it may compute forever
	waits bool // it may wait forever

	datasets bool // it may read a dataset
}

// add adds the hazards of an operation type.
func (h *hazards) add(typ string) {
	h.datasets = h.datasets || containsAny(typ, loopParts)
	h.loops = h.loops || h.datasets || slices.Contains(loopTypes, typ)
	h.waits = h.waits || containsAny(typ, blockingParts)
}

// findHazards returns the hazards of the runs. A graph's functions count for all of its
// runs.
func (gs *guards) findHazards() hazards {
	gs.find.Do(func() {
		for op := range gs.operations() {
			gs.hazards.add(op.Type())
		}
		gs.hazards.addFunctions(gs.s.g)
	})
	return gs.hazards
}

// MayLoop reports whether a run of the graph may compute a loop, in its
// operations or its functions.
func (g *Graph) MayLoop() bool {
	var h hazards
	for _, op := range g.Operations() {
		h.add(op.Type())
	}
	h.addFunctions(g)
	return h.loops
}

// addFunctions adds the hazards of the functions of a graph. A function that cannot
// be read may loop.
func (h *hazards) addFunctions(g *Graph) {
	all, err := g.Functions()
	h.loops, h.datasets = h.loops || err != nil, h.datasets || err != nil
	for _, f := range all {
		def, err := f.Def()
		f.Close()
		ok := wire.Each(def, func(num protowire.Number, node []byte, _ uint64) bool {
			return num != functionNode || wire.Each(node, func(num protowire.Number, v []byte, _ uint64) bool {
				if num == nodeOp {
					h.add(string(v))
				}
				return true
			})
		})
		h.loops = h.loops || err != nil || !ok
	}
}

// The field used of FunctionDef, and that of NodeDef.
const (
	functionNode = 3
	nodeOp       = 2
)

// wanted reports whether to guard a run whose caller left RunOptions.Interrupt unset.
// It returns true if the run may never end by itself and certainly reads no iterator.
func (gs *guards) wanted() bool {
	gs.decide.Do(func() { gs.automatic = gs.mayWait() && !gs.s.g.functionsMayContain(iteratorTypes) })
	return gs.automatic
}

// mayWait reports whether some operation of a run may wait, and none reads an iterator.
func (gs *guards) mayWait() bool {
	waits := false
	for op := range gs.operations() {
		typ := op.Type()
		if strings.Contains(typ, iteratorTypes) {
			return false
		}
		waits = waits || containsAny(typ, waitingTypes)
	}
	return waits
}

// operations yields the operations that the runs may compute.
func (gs *guards) operations() iter.Seq[*Operation] {
	return func(yield func(*Operation) bool) {
		seen := map[*C.TF_Operation]bool{}
		pending := slices.Clone(gs.targets)
		for _, o := range gs.fetches {
			pending = append(pending, o.Op)
		}
		for len(pending) > 0 {
			op := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			if seen[op.c] {
				continue
			}
			seen[op.c] = true
			if !yield(op) {
				return
			}
			for _, in := range op.Inputs() {
				pending = append(pending, in.Op)
			}
			pending = append(pending, op.ControlInputs()...)
		}
	}
}

// containsAny reports whether a type's name contains one of the parts.
func containsAny(typ string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(typ, part) })
}

// meetingTypes are parts of the names of operation types at which one run waits
// for another. Readers wait at their queue.
var meetingTypes = []string{"Queue", "Barrier", "Stage", "Accumulator"}

// describe lists the places where the runs may be waiting, for the error of a run whose
// context is done: the names of the queues, barriers and accumulators that they use. It
// returns "" if there are none.
func (gs *guards) describe() string {
	const most = 4
	var names []string
	for op := range gs.operations() {
		typ := op.Type()
		maker := op.NumInputs() == 0 // it makes a handle
		if containsAny(typ, meetingTypes) && (maker || strings.Contains(typ, "Stage") || strings.Contains(typ, "Unstage")) {
			names = append(names, fmt.Sprintf("%q (%s)", op.Name(), typ))
		}
	}
	slices.Sort(names)
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
	}
	if len(names) == 0 {
		return ""
	}
	return "run that may have waited at " + strings.Join(names, ", ")
}

// functionsMayContain reports whether a function of the graph may have an operation
// whose type contains one of the parts. A function that cannot be read counts as such.
func (g *Graph) functionsMayContain(parts ...string) bool {
	all, err := g.Functions()
	if err != nil {
		return true
	}
	found := false
	for _, f := range all {
		def, err := f.Def()
		found = found || err != nil || slices.ContainsFunc(parts, func(part string) bool { return bytes.Contains(def, []byte(part)) })
		f.Close()
	}
	return found
}
