package tfbridge

// #include "capi.h"
import "C"

import (
	"bytes"
	"strings"
)

// waits are parts of the names of operation types that may wait for another
// run, or run for ever.
var waits = []string{"Queue", "Barrier", "Stage", "Stack", "Reader", "Accumulator", "While", "LoopCond", "PartitionedCall", "If", "Case", "For"}

// iterates is a part of the names of operation types that interrupted runs
// spoil, for good.
const iterates = "Iterator"

// wanted reports whether runs should be guarded of which nobody said so: those
// that may never end by themselves and surely read no iterator.
func (gs *guards) wanted() bool {
	gs.look.Do(func() { gs.apply = gs.inspect() })
	return gs.apply
}

// inspect looks at everything that a run may compute.
func (gs *guards) inspect() bool {
	seen := map[*C.TF_Operation]bool{}
	list := append([]*Operation(nil), gs.ends...)
	may := false
	for len(list) > 0 {
		op := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[op.c] {
			continue
		}
		seen[op.c] = true
		typ := op.Type()
		if strings.Contains(typ, iterates) {
			return false
		}
		for _, part := range waits {
			may = may || strings.Contains(typ, part)
		}
		for _, in := range op.Inputs() {
			list = append(list, in.Op)
		}
		list = append(list, op.ControlInputs()...)
	}
	return may && !gs.s.g.functionsIterate()
}

// functionsIterate reports whether a function of the graph might have an
// iterator in it.
func (g *Graph) functionsIterate() bool {
	all, err := g.Functions()
	if err != nil {
		return true
	}
	found := false
	for _, f := range all {
		def, err := f.Def()
		found = found || err != nil || bytes.Contains(def, []byte(iterates))
		f.Close()
	}
	return found
}
