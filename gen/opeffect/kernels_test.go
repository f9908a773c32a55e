package opeffect

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/soak"
	"millrace/savedmodel/effect"
)

// allowedOps returns the registrations of all operations that have a row, by name.
func allowedOps(t *testing.T) map[string]*tfproto.OpDef {
	t.Helper()
	ops := registered(t)
	maps.DeleteFunc(ops, func(name string, _ *tfproto.OpDef) bool {
		_, ok := effect.Of(name)
		return !ok
	})
	return ops
}

// unfed returns why an operation is not probed, "" if it is.
func unfed(op *tfproto.OpDef) string {
	for _, a := range op.Attr {
		if a.Type == "func" || a.Type == "list(func)" {
			return "function"
		}
	}
	for _, in := range op.InputArg {
		switch {
		case in.IsRef:
			return "reference"
		case isHandle(in.Type) || isStringHandle(op, in):
			return "handle"
		}
	}
	if slices.Contains(writing, op.Name) {
		return "file"
	}
	if slices.Contains(waiting, op.Name) {
		return "waits"
	}
	return ""
}

// writing lists operations that read, write or remove files.
var writing = strings.Fields("Save SaveSlices SaveV2 Restore RestoreSlice RestoreV2 MergeV2Checkpoints")

// waiting lists operations that wait for what another operation puts somewhere.
var waiting = strings.Fields("MapPeek MapUnstage MapUnstageNoKey OrderedMapPeek OrderedMapUnstage OrderedMapUnstageNoKey StagePeek Unstage Unbatch UnbatchGrad")

// always lists the operations that are probed in every run of the tests: those that
// write files, those that were added recently, and those that write to a buffer which
// they may take over.
var always = strings.Fields(`InplaceUpdate InplaceAdd InplaceSub Empty DeepCopy Identity Reshape Abs AddV2 Relu Squeeze Slice
	TensorScatterAdd TensorStridedSliceUpdate ClipByValue Cumsum MatrixSetDiag BiasAdd Where StringUpper StringJoin
	ParseSingleExample StatelessShuffle`)

// TestKernels runs each operation that takes numbers and strings, and looks for shared
// or changed buffers. A row that denies sharing a buffer or writing to one is wrong if
// the kernel does so. Some operations are not run: those that take handles, references
// or functions, those that wait, and those for whose inputs the probe makes no right
// shape. Their rows rest on the registrations and on reading some of the sources.
func TestKernels(t *testing.T) {
	ops := allowedOps(t)
	var names []string
	unprobed := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		if why := unfed(ops[name]); why != "" {
			unprobed[why]++
			continue
		}
		names = append(names, name)
	}
	if !soak.Long() { // all of them take minutes
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(always, name) })
	}
	seen := probeAll(t, names)
	reached := 0
	for _, name := range names {
		row, _ := effect.Of(name)
		s, probed := seen[name]
		switch {
		case !probed:
			t.Logf("ENDED %s", name)
		case s.writes && len(row.Writes) == 0:
			t.Errorf("%s writes to an input; its row does not say so", name)
		case s.alias && !row.Alias:
			t.Errorf("%s: an output shares its buffer with an input; its row does not say so", name)
		case s.ran == 0:
			t.Logf("UNREACHED %s", name)
		default:
			reached++
		}
	}
	t.Logf("%d of %d operations ran; of %d with a row these are not run: %v", reached, len(names), len(ops), unprobed)
	if reached < len(names)/2 {
		t.Errorf("only %d of %d operations ran", reached, len(names))
	}
	// The probe finds what it looks for.
	if s := seen["InplaceUpdate"]; !s.writes || !s.alias {
		t.Errorf("InplaceUpdate: saw %+v", s)
	}
	if s := seen["Identity"]; !s.alias || s.writes {
		t.Errorf("Identity: saw %+v", s)
	}
	for _, op := range []string{"Empty", "DeepCopy"} {
		if s := seen[op]; s.ran == 0 || s.alias || s.writes {
			t.Errorf("%s is said to be fresh: saw %+v", op, s)
		}
	}
}

// probeAll probes operations in two processes at a time, so that an operation that ends
// its process does not end the test. It returns the results of the operations that did
// not.
func probeAll(t *testing.T, names []string) map[string]sight {
	var mu sync.Mutex
	seen := map[string]sight{}
	var wait sync.WaitGroup
	for half := range 2 {
		var mine []string
		for i := half; i < len(names); i += 2 {
			mine = append(mine, names[i])
		}
		wait.Go(func() {
			for len(mine) > 0 {
				done := probeSome(t, mine, func(name string, s sight) {
					mu.Lock()
					defer mu.Unlock()
					seen[name] = s
				})
				mine = mine[min(done+1, len(mine)):]
			}
		})
	}
	wait.Wait()
	return seen
}

// probeSome runs a process that probes operations, until it ends. It returns how many it
// probed.
func probeSome(t *testing.T, names []string, report func(string, sight)) (done int) {
	p, err := startChild(t, childOptions{test: "TestProbeChild", input: names, patience: patience, env: []string{probeEnv + "=1", "TF_CPP_MIN_LOG_LEVEL=3"}})
	if err != nil {
		t.Error(err)
		return len(names)
	}
	p.wait(func(line string) { //nolint:errcheck // its output shows how it ended
		var name string
		var s sight
		if n, _ := fmt.Sscanf(line, "probed %s %d %t %t", &name, &s.ran, &s.alias, &s.writes); n == 4 {
			report(name, s)
			p.alive()
			done++
		}
	})
	return done
}

// TestProbeChild is the process that probes.
func TestProbeChild(t *testing.T) {
	if os.Getenv(probeEnv) == "" {
		t.Skip("a part of TestKernels")
	}
	ops := allowedOps(t)
	for _, name := range strings.Fields(childInput(t)) {
		s := newProbe(ops[name]).look(soak.Rounds(200, 2000), 6)
		fmt.Printf("probed %s %d %t %t\n", name, s.ran, s.alias, s.writes)
	}
}
