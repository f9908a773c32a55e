package opeffect

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The whole run of the calls takes hours. So it records each call that the process survived in the
// file that progressEnv names, and a run that is started again with the same file skips them. Calls
// that ended the process are run again. A run may also take a part of the calls: shardEnv has the form 2/5,
// and fromEnv is the index of the first call.
const (
	progressEnv = "CALLS_PROGRESS"
	fromEnv     = "CALLS_FROM"
	shardEnv    = "CALLS_SHARD"
)

// progress records which calls of a test were survived.
type progress struct {
	test string
	mu   sync.Mutex
	file *os.File        // nil: nothing is recorded
	done map[string]bool // calls that an earlier run survived
}

// openProgress reads what an earlier run recorded for a test.
func openProgress(t *testing.T) *progress {
	t.Helper()
	p := &progress{test: t.Name(), done: map[string]bool{}}
	path := os.Getenv(progressEnv)
	if path == "" {
		return p
	}
	before, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(before)) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 4)
		if len(fields) == 4 && fields[0] == p.test && fields[1] == "survived" {
			p.done[fields[3]] = true
		}
	}
	if p.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.file.Close() })
	return p
}

// record records how a call ended: "survived", "slow" or "ended", with details.
func (p *progress) record(how, details string, c call) {
	if p.file == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.file, "%s\t%s\t%s\t%s\n", p.test, how, strings.ReplaceAll(details, "\t", " "), c)
}

// left returns the indices of the calls that are to run.
func (p *progress) left(t *testing.T, calls []call, indices []int) []int {
	t.Helper()
	from, shard, shards := 0, 1, 1
	if v := os.Getenv(fromEnv); v != "" {
		if _, err := fmt.Sscan(v, &from); err != nil {
			t.Fatalf("%s=%q: it must be the index of a call", fromEnv, v)
		}
	}
	if v := os.Getenv(shardEnv); v != "" {
		if _, err := fmt.Sscanf(v, "%d/%d", &shard, &shards); err != nil || shard < 1 || shard > shards {
			t.Fatalf("%s=%q: it must be like 2/5", shardEnv, v)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(indices), func(i int) bool {
		return i < from || i%shards != shard-1 || p.done[calls[i].String()]
	})
	if len(kept) < len(indices) {
		t.Logf("%d of %d calls are left to run", len(kept), len(indices))
	}
	return kept
}
