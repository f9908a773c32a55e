package cluster_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/estimator/cluster"
	"millrace/internal/test/address"
	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// TF_CONFIG is read as Keras reads it.
func TestParse(t *testing.T) {
	two := []string{"a:1", "b:2"}
	tests := map[string]*cluster.Spec{
		"":                             nil,
		`{"task": {"type": "worker"}}`: nil,
		`{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}`:                              nil,
		`{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}`:                       {Workers: two, Rank: 1},
		`{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": "1"}}`:                     {Workers: two, Rank: 1},
		`{"cluster": {"worker": ["b:2"], "chief": ["a:1"]}, "task": {"type": "worker", "index": 0}}`:            {Workers: two, Rank: 1},
		`{"cluster": {"worker": ["b:2"], "chief": ["a:1"]}, "task": {"type": "chief", "index": 0}, "x": 1}`:     {Workers: two, Rank: 0},
		`{"cluster": {"worker": ["a:1"], "ps": ["b:2"]}, "task": {"type": "ps", "index": 0}}`:                   {Workers: two[:1], Servers: two[1:], Server: true},
		`{"cluster": {"worker": ["a:1", "b:2"], "evaluator": ["c:3"]}, "task": {"type": "worker", "index": 1}}`: {Workers: two, Rank: 1},
		`{"cluster": {"chief": ["a:1"], "ps": ["b:2"]}, "task": {"type": "chief", "index": 0}}`:                 {Workers: two[:1], Servers: two[1:]},
	}
	for text, want := range tests {
		got, err := cluster.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	wrong := map[string]string{
		`worker 0`: "is not JSON",
		`{"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator", "index": 0}}`:      "millrace evaluate RUN.json",
		`{"cluster": {"other": ["a:1"]}}`:                                                  `a job "other"`,
		`{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}`:                 "no worker",
		`{"cluster": {"chief": ["a:1", "b:2"]}}`:                                           "2 chiefs",
		`{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 2}}`:  "no such task",
		`{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": -1}}`: "no such task",
		`{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "chief", "index": 0}}`:   "no such task",
		`{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker"}}`:              "not a number",
	}
	for text, want := range wrong {
		if _, err := cluster.Parse(text); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "TF_CONFIG") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Processes find out that they would train something else, and whether one is missing.
func TestCompare(t *testing.T) {
	addresses := address.OwnProcess(t, 4)
	if addresses == nil {
		return
	}
	members := make([]*cluster.Member, 3)
	for rank := range members {
		m, err := cluster.Join(&cluster.Spec{Workers: addresses[:3], Rank: rank}, nil)
		if err != nil {
			t.Fatal(err)
		}
		members[rank] = m
	}
	compare := func(facts func(rank int) map[string]string) (failed []string) {
		var group errgroup.Group
		failed = make([]string, len(members))
		for rank, m := range members {
			group.Go(func() error {
				if err := m.Compare(t.Context(), facts(rank)); err != nil {
					failed[rank] = err.Error()
				}
				return nil
			})
		}
		group.Wait() //nolint:errcheck // the errors are in failed
		return failed
	}
	if got := compare(func(int) map[string]string { return map[string]string{"loader": "x", "step": "3"} }); strings.Join(got, "") != "" {
		t.Errorf("equal facts: %q", got)
	}
	got := compare(func(rank int) map[string]string {
		return map[string]string{"loader": "x", "step": []string{"3", "3", "4"}[rank], "seed": []string{"1", "1", "2"}[rank]}
	})
	for rank, text := range got {
		if !strings.Contains(text, "worker 2 ("+addresses[2]+") has another seed, step than worker 0") {
			t.Errorf("worker %d says %q", rank, text)
		}
	}
	got = compare(func(rank int) map[string]string { return map[string]string{"key " + "aab"[rank:rank+1]: ""} })
	for rank, text := range got {
		if !strings.Contains(text, "worker 2 knows other facts") {
			t.Errorf("worker %d says %q", rank, text)
		}
	}

	alone, err := cluster.Join(&cluster.Spec{Workers: []string{addresses[3], addresses[0]}}, &cluster.Options{Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Compare(t.Context(), nil); !errors.Is(err, millrace.ErrCanceled) || !strings.Contains(err.Error(), addresses[0]) {
		t.Errorf("a process that never comes: %v", err)
	}
}
