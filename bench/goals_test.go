package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table of the goals says that each is reached, or which are not.
func TestGoals(t *testing.T) {
	for f, want := range map[float64]bool{1.01: true, 0.99: false} {
		r := round{Goals: map[string]*goalRound{}}
		for _, kind := range servingKinds {
			g := &goalRound{Ours: map[int]served{}, Theirs: map[int]served{}, OursWithin: served{RequestsPerS: convolutionTarget * f}, TheirsWithin: served{RequestsPerS: 1},
				Best: served{RequestsPerS: 1e4}, Half: served{P99S: halfLoadTarget / f}, Good: goodputTarget * 1e4 * f, RefusalS: refusalTarget / f}
			for _, n := range goalClients {
				g.Ours[n], g.Theirs[n] = served{RequestsPerS: clientTargets[n] * f, P99S: 1, ServerS: processorTarget / f}, served{RequestsPerS: 1, P99S: 1}
			}
			r.Goals[kind] = g
		}
		for _, n := range overloadRows {
			r.Goals[overloadName(n)] = &goalRound{Best: served{RequestsPerS: 1e4}, Good: goodputTarget * 1e4 * f, RefusalS: refusalTarget / f}
		}
		var out bytes.Buffer
		if met := table(&out, []round{r}, goalRows()); met != want || strings.Contains(out.String(), "below target") == want {
			t.Errorf("%v of the targets: %v\n%s", f, met, &out)
		}
	}
}

// The processor time of a process is read from its own entry.
func TestProcessorOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	before, err := processorOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	after := before
	for sum := 0; after <= before; sum++ {
		if sum%1e6 == 0 {
			if after, err = processorOf(os.Getpid()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Requests of several rows have the rows of as many others.
func TestJoined(t *testing.T) {
	got, err := joined([][]byte{[]byte(`{"instances":[[1]]}`), []byte(`{"instances":[[2]]}`), []byte(`{"instances":[[3]]}`)}, 2)
	want := `[{"instances":[[1],[2]]} {"instances":[[2],[3]]} {"instances":[[3],[1]]}]`
	if text := fmt.Sprintf("%s", got); err != nil || text != want {
		t.Errorf("got %s, %v\nwant %s", text, err, want)
	}
}
