package tfbridge

import (
	"bytes"
	"errors"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

// profiled returns the number of objects in the profile.
func profiled() int { return pprof.Lookup(HandleProfile).Count() }

// makeProfiledTensor is a function whose name the test finds in the profile.
func makeProfiledTensor(t *testing.T) *Tensor {
	x, err := NewTensor(int64(1))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestProfileHandles(t *testing.T) {
	testruntime.Need(t)
	if err := ProfileHandles(1); err != nil {
		t.Fatal(err)
	}
	defer ProfileHandles(0)
	before := profiled()
	x := makeProfiledTensor(t)
	g := NewGraph()
	if n := profiled(); n != before+2 {
		t.Errorf("%d open objects in the profile, %d before", n, before)
	}
	var text bytes.Buffer
	if err := pprof.Lookup(HandleProfile).WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	wantText(t, text.String(), "makeProfiledTensor", "TestProfileHandles")
	if strings.Contains(text.String(), "tfbridge.profileHandle") {
		t.Errorf("frames of the profile itself:\n%s", &text)
	}
	x.Close()
	g.Close()
	if n := profiled(); n != before {
		t.Errorf("%d objects in the profile after Close, %d before", n, before)
	}
	// An object that is never closed leaves the profile when the collector has freed
	// it.
	func() { makeProfiledTensor(t) }()
	for i := 0; profiled() > before && i < 1000; i++ {
		runtime.GC()
		runtime.Gosched()
	}
	if n := profiled(); n != before {
		t.Errorf("%d objects in the profile after a collection, %d before", n, before)
	}
	if err := ProfileHandles(4); err != nil {
		t.Fatal(err)
	}
	var list []*Tensor
	for range 8 {
		list = append(list, makeProfiledTensor(t))
	}
	if n := profiled(); n != before+2 {
		t.Errorf("%d of 8 objects in a profile of one of 4", n-before)
	}
	ProfileHandles(0)
	closeAll(list)
	makeProfiledTensor(t).Close()
	if n := profiled(); n != before {
		t.Errorf("%d objects in the profile in the end, %d before", n, before)
	}
	if err := ProfileHandles(-1); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("every -1: %v", err)
	}
}
