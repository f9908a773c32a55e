package tfbridge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

// Collections at every step, overwritten freed memory, and a single processor change no
// result and cause no deadlock.
func TestUnderPressure(t *testing.T) {
	testruntime.Need(t)
	for name, env := range map[string][]string{
		"collections":   {"GOGC=1", "GODEBUG=clobberfree=1,gcstoptheworld=2"},
		"one processor": {"GOMAXPROCS=1"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, ok := child(t, "pressure", env...); !ok || out != "done\n" {
				t.Errorf("child\n got %s", out)
			}
		})
	}
}

// pressureChild runs strings, pinned memory and interrupted runs, in a session of one
// thread.
func pressureChild() {
	b := &build{t: &testing.T{}, g: NewGraph()}
	_, get := emptyQueue(b)
	text, number := b.placeholder("text", String, MakeShape(-1)), b.placeholder("number", Float, MakeShape(-1))
	same, double := b.out("Identity", "same", nil, text), b.out("AddV2", "double", nil, number, number)
	s, err := NewSession(b.g, &SessionOptions{IntraOpThreads: 1, InterOpThreads: 1, OwnThreads: true})
	if err != nil {
		report(err)
		return
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				if err := underPressure(s, text, number, same, double); err != nil {
					fmt.Println(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				wg.Go(cancel)
				if _, err := s.RunContext(ctx, nil, []Output{get}, nil); !errors.Is(err, millrace.ErrCanceled) {
					fmt.Println("canceled:", err)
				}
			}
		})
	}
	wg.Wait()
	s.Close()
	b.g.Close()
	for Live() > 0 {
		runtime.Gosched() // the last runs are still ending
	}
	fmt.Println("done")
}

// underPressure makes one run and checks its results.
func underPressure(s *Session, text, number, same, double Output) error {
	words := []string{"a", strings.Repeat("b", 100)}
	w, err := NewStringTensor([]int64{2}, words)
	if err != nil {
		return err
	}
	defer w.Close()
	data, err := AlignedSlice[float32](1000)
	if err != nil {
		return err
	}
	data[999] = 21
	n, err := NewPinnedTensor([]int64{1000}, data, nil)
	if err != nil {
		return err
	}
	defer n.Close()
	out, err := s.Run(map[Output]*Tensor{text: w, number: n}, []Output{same, double}, nil)
	if err != nil {
		return err
	}
	defer closeAll(out)
	got, err := out[0].Strings()
	if err != nil || !slices.Equal(got, words) {
		return fmt.Errorf("strings %q, %w", got, err)
	}
	view, err := View[float32](out[1])
	if err != nil || view[999] != 42 || view[0] != 0 {
		return fmt.Errorf("numbers %v, %w", view[999], err)
	}
	return nil
}
