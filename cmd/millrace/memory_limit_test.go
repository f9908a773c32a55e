package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"millrace/graph"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// hungryLimit is the limit of the program hungry.
const hungryLimit = 256 << 20

// hungry is a program that runs graphs which ask for much memory, within a limit, and
// prints how each run ends.
func hungry() {
	r, err := tfbridge.Open(&tfbridge.RuntimeOptions{MemoryLimit: hungryLimit})
	if err != nil {
		panic(err)
	}
	fmt.Println("limit", r.MemoryLimit())
	for _, run := range []struct {
		what   string
		pieces int
		size   int64
	}{{"one piece", 1, 100_000_000}, {"many pieces", 1200, 60_000}, {"large pieces", 8, 10_000_000}, {"sound", 1, 10_000_000}} {
		fmt.Println(run.what, fill(run.pieces, run.size))
	}
}

// fill sums as many tensors as asked for, which are there at the same time.
func fill(pieces int, size int64) string {
	s := graph.NewScope()
	n := s.Placeholder(tfbridge.Int64, tfbridge.MakeShape(1))
	var all []tfbridge.Output
	for i := range pieces {
		all = append(all, s.Op1("Fill", map[string]any{"index_type": tfbridge.Int64}, n, s.Const(float32(i))))
	}
	sum := s.Op1("AddN", nil, tfbridge.OutputList(all))
	first := s.Op1("Max", nil, sum, s.Const([]int32{0}))
	g, err := s.Finalize()
	if err != nil {
		panic(err)
	}
	session, err := tfbridge.NewSession(g, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	in, err := tfbridge.NewTensor([]int64{size})
	if err != nil {
		panic(err)
	}
	out, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{n: in}, []tfbridge.Output{first}, nil)
	switch {
	case errors.Is(err, tfbridge.ResourceExhausted):
		return "refused: " + err.Error()
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint("got ", out[0].Value())
}

// What a run needs beyond the limit of memory is refused at once, in large pieces and in
// many small ones, with oneDNN and without, and the next run has its memory.
func TestMemoryLimit(t *testing.T) {
	testruntime.Need(t)
	for _, oneDNN := range []string{"0", "1"} {
		cmd := exec.CommandContext(t.Context(), "hungry")
		cmd.Env = append(os.Environ(), "TF_ENABLE_ONEDNN_OPTS="+oneDNN)
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("oneDNN %s: %v\n%s", oneDNN, err, said)
		}
		if strings.Contains(string(said), "limit 0\n") {
			t.Skip("SKIPPED: THERE IS NO LIMIT OF MEMORY without the library of Millrace's operations: make native")
		}
		for _, want := range []string{"one piece refused: ", "many pieces refused: ", "large pieces refused: ", "memory limit of 256 MiB", "sound got 0"} {
			if !strings.Contains(string(said), want) {
				t.Errorf("oneDNN %s: no %q in\n%s", oneDNN, want, said)
			}
		}
		// malloc keeps what the small pieces took.
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > (2*hungryLimit+512<<20)>>10 {
			t.Errorf("oneDNN %s: it took %d MiB", oneDNN, usage.Maxrss>>10)
		}
	}
}
