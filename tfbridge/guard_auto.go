package tfbridge

// #include "capi.h"
import "C"

import (
	"bytes"
	"strings"
)

// waitingTypes are parts of the names of operation types that may wait for
// another run, or run for ever.
var waitingTypes = []string{"Queue", "Barrier", "Stage", "Stack", "Reader", "Accumulator", "While", "LoopCond", "PartitionedCall", "If", "Case", "For"}

// iteratorTypes is a part of the names of operation types that read an
// iterator. Interrupting such a run spoils the iterator for good.
const iteratorTypes = "Iterator"

// wanted reports whether to guard a run whose caller left RunOptions.Interrupt
// unset. It does if the run may never end by itself and certainly reads no
// iterator.
func (gs *guards) wanted() bool {
	gs.decide.Do(func() { gs.automatic = gs.mayWait() && !gs.s.g.functionsMayIterate() })
	return gs.automatic
}

// mayWait reports whether an operation that a run may compute can wait, and
// none reads an iterator.
func (gs *guards) mayWait() bool {
	seen := map[*C.TF_Operation]bool{}
	pending := append([]*Operation(nil), gs.ends...)
	waits := false
	for len(pending) > 0 {
		op := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if seen[op.c] {
			continue
		}
		seen[op.c] = true
		typ := op.Type()
		if strings.Contains(typ, iteratorTypes) {
			return false
		}
		for _, part := range waitingTypes {
			waits = waits || strings.Contains(typ, part)
		}
		for _, in := range op.Inputs() {
			pending = append(pending, in.Op)
		}
		pending = append(pending, op.ControlInputs()...)
	}
	return waits
}

// functionsMayIterate reports whether a function of the graph may read an
// iterator. A function that cannot be read may.
func (g *Graph) functionsMayIterate() bool {
	all, err := g.Functions()
	if err != nil {
		return true
	}
	found := false
	for _, f := range all {
		def, err := f.Def()
		found = found || err != nil || bytes.Contains(def, []byte(iteratorTypes))
		f.Close()
	}
	return found
}
