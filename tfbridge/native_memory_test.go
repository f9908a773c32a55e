package tfbridge

import (
	"runtime"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
)

// double is a graph that adds a vector to itself, so that every run allocates.
func double(b *build, n int) (s *Session, x *Tensor, in, out Output) {
	if stress {
		b.t.Skip("the stress build collects by itself")
	}
	in = b.placeholder("in", Uint8, MakeShape(-1))
	out = b.out("AddV2", "out", nil, in, in)
	return b.session(), b.tensor(make([]uint8, n)), in, out
}

// Outputs that are never closed are freed while the program runs: 3,000 outputs of 1 MB
// never hold 1 GB. Go's own pacer would collect none of them.
func TestUnclosedOutputsAreFreed(t *testing.T) {
	s, x, in, out := double(newBuild(t), 1<<20)
	before, most := LiveBytes(), int64(0)
	for range 3000 {
		if _, err := s.Run(map[Output]*Tensor{in: x}, []Output{out}, nil); err != nil {
			t.Fatal(err)
		}
		most = max(most, LiveBytes()-before)
	}
	if most < nativeFloor || most > 1<<30 {
		t.Errorf("unclosed outputs hold up to %d MiB, want 256 to 1024", most>>20)
	}
	for LiveBytes() > before {
		runtime.GC()
		runtime.Gosched()
	}
}

// A program that closes its outputs causes a collection while its memory grows for the
// first time, but not when it grows to the same size again.
func TestClosedOutputsCostFewCollections(t *testing.T) {
	s, x, in, out := double(newBuild(t), 1<<20)
	round := func() int64 {
		var open []*Tensor
		for range 600 {
			got, err := s.Run(map[Output]*Tensor{in: x}, []Output{out}, nil)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, got...)
		}
		for native.collecting.Load() {
			runtime.Gosched()
		}
		closeAll(open)
		return native.count.Load()
	}
	first := round()
	for range 5 {
		if n := round(); n != first {
			t.Fatalf("%d collections, %d after the first round", n, first)
		}
	}
}

// LiveBytes counts elements, including long strings, which are stored elsewhere. It
// counts neither Go memory nor closed tensors.
func TestLiveBytes(t *testing.T) {
	testruntime.Need(t)
	aligned, err := AlignedSlice[float32](1000)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1000)
	tests := []struct {
		name string
		make func() (*Tensor, error)
		want int64
	}{
		{"scalar", func() (*Tensor, error) { return NewTensor(int64(1)) }, 8},
		{"matrix", func() (*Tensor, error) { return NewTensor([][]float32{{1, 2}, {3, 4}}) }, 16},
		{"strings", func() (*Tensor, error) { return NewTensor([]string{"short", long}) }, 2*24 + 1000},
		{"Go memory", func() (*Tensor, error) { return NewPinnedTensor([]int64{1000}, aligned, nil) }, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := LiveBytes()
			x, err := test.make()
			if err != nil {
				t.Fatal(err)
			}
			checkBytes(t, x, test.want, before)
		})
	}
}

// checkBytes checks the bytes that x counts, and that it counts none after it is
// closed. Finalizers of other tests may lower the process's count at any time.
func checkBytes(t *testing.T, x *Tensor, want, before int64) {
	t.Helper()
	if x.h.bytes != want {
		t.Errorf("open: %d bytes, want %d", x.h.bytes, want)
	}
	x.Close()
	if got := LiveBytes(); got > before {
		t.Errorf("closed: %d bytes more than before", got-before)
	}
}

// Fetched strings are counted with their bytes.
func TestLiveBytesOfFetches(t *testing.T) {
	b := newBuild(t)
	in := b.placeholder("in", String, MakeShape(-1))
	out := b.out("StringJoin", "out", map[string]any{"N": 2}, OutputList{in, in})
	s, x := b.session(), b.tensor([]string{strings.Repeat("x", 500), "short"})
	before := LiveBytes()
	got, err := s.Run(map[Output]*Tensor{in: x}, []Output{out}, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkBytes(t, got[0], 2*24+1000, before)
}
