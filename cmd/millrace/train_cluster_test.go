package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"millrace/estimator/run"
	"millrace/internal/test/address"
	"millrace/internal/test/fixture"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
)

// togetherConfig writes two run configs over the same data: of a process alone, and of two.
func togetherConfig(t *testing.T) (alone, together string) {
	change := func(c fixture.Object) {
		c["model"].(fixture.Object)["train"] = fixture.Object{
			"signature": "serving_default", "clip_norm": 0.5, "l2": 0.001,
			"loss":      fixture.Object{"type": "sparse_softmax_cross_entropy", "predictions": "scores", "labels": "id"},
			"optimizer": fixture.Object{"type": "adam", "learning_rate": 0.01},
		}
		c["seed"] = 5
	}
	alone = runConfig(t, fixture.Points(t, 4, fixture.Shuffled()), change)
	setTrain(t, alone, fixture.Object{"loader": "loader.json", "steps": 45, "log_every": 3}, 15)
	together = changeConfig(t, alone, filepath.Join(filepath.Dir(alone), "together.json"), func(c fixture.Object) {
		c["cluster"] = fixture.Object{"worker": address.Free(t, 2), "timeout": 60}
	})
	return alone, together
}

// worker is a process that trains with others.
type worker struct {
	*exec.Cmd
	said bytes.Buffer
}

// newTask returns a process of a cluster that has not started.
func newTask(t *testing.T, task, config, dir string, args ...string) *worker {
	t.Helper()
	return &worker{Cmd: exec.CommandContext(t.Context(), "millrace", append([]string{"train", config, "--dir", dir, "--task", task, "--trusted-network"}, args...)...)}
}

// startTask starts a process of a cluster.
func startTask(t *testing.T, task, config, dir string, args ...string) *worker {
	t.Helper()
	w := newTask(t, task, config, dir, args...)
	w.Stderr = &w.said
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// startWorker starts a worker of a cluster.
func startWorker(t *testing.T, rank int, config, dir string, args ...string) *worker {
	t.Helper()
	return startTask(t, fmt.Sprint("worker:", rank), config, dir, args...)
}

// ends waits for the process and checks its exit code.
func (w *worker) ends(t *testing.T, code int) {
	t.Helper()
	_ = w.Wait()
	if got := w.ProcessState.ExitCode(); got != code {
		t.Fatalf("%q: %v, want exit code %d\n%s", w.Args, w.ProcessState, code, w.said.String())
	}
}

// Two processes that share batches train what one trains with whole batches, and after a
// kill of either both continue to the same bits.
func TestTrainTogether(t *testing.T) {
	testruntime.Need(t)
	alone, together := togetherConfig(t)
	one, two, killed := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	trained(t, 0, "train", alone, "--dir", one)

	second := startWorker(t, 1, together, two)
	trained(t, 0, "train", together, "--dir", two, "--task", "worker:0", "--trusted-network")
	second.ends(t, 0)
	got, other, want := lossesIn(t, two), lossesIn(t, filepath.Join(two, "workers", "1")), lossesIn(t, one)
	if !bytes.Equal(got, other) {
		t.Errorf("the processes differ:\n%s\n%s", got, other)
	}
	near(t, string(got), string(want))
	workersTook(t, two)

	first := startWorker(t, 0, together, killed, "--restarts", "3")
	killChildAt(t, 8, "train", together, "--dir", killed, "--task", "worker:1", "--trusted-network", "--restarts", "3")
	first.ends(t, 0)
	if said := first.said.String(); !strings.Contains(said, "another process of the cluster failed; restart 1 of 3") {
		t.Error(said)
	}
	if x, y := variablesAt(t, two, 45), variablesAt(t, killed, 45); len(x) == 0 || !maps.Equal(x, y) {
		t.Error("after a kill the variables differ")
	}
}

// Either of two processes that train together is killed, again and again, between steps and
// while checkpoints are written: the last weights are the same bits as without.
func TestTrainTogetherKilled(t *testing.T) {
	testruntime.Need(t)
	kills := soak.Rounds(2, 50)
	_, config := togetherConfig(t)
	setTrain(t, config, fixture.Object{"loader": "loader.json", "steps": 60 * kills, "log_every": 3}, 4)
	whole, killed := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	second := startWorker(t, 1, config, whole)
	trained(t, 0, "train", config, "--dir", whole, "--task", "worker:0", "--trusted-network")
	second.ends(t, 0)

	restarts := []string{"--restarts", fmt.Sprint(4 * kills)}
	second = startWorker(t, 1, config, killed, restarts...)
	first := newTask(t, "worker:0", config, killed, restarts...)
	random, next, done := rand.New(rand.NewPCG(3, 4)), 8, 0
	first.lines(t, func(n int) {
		if n != next || done == kills {
			return
		}
		victims := []*worker{first, second}
		if err := syscall.Kill(onlyChild(t, victims[random.IntN(2)].Process.Pid), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		done, next = done+1, n+8+random.IntN(20)
	})
	second.ends(t, 0)
	if done < kills {
		t.Errorf("%d of %d kills", done, kills)
	}
	last := int64(60 * kills)
	if x, y := variablesAt(t, whole, last), variablesAt(t, killed, last); len(x) == 0 || !maps.Equal(x, y) {
		t.Error("after kills the variables differ")
	}
}

// killChildAt runs a training that restarts itself, kills the process that trains after some
// lines of its progress, and waits for the end.
func killChildAt(t *testing.T, lines int, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "millrace", args...)
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(pipe)
	var text strings.Builder
	for n := 0; said.Scan(); n++ {
		if fmt.Fprintln(&text, said.Text()); n == lines {
			if err := syscall.Kill(onlyChild(t, cmd.Process.Pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(text.String(), "ended by SIGKILL; restart 1 of 3") {
		t.Fatalf("%v\n%s", err, text.String())
	}
}

// onlyChild returns the child of a process.
func onlyChild(t *testing.T, parent int) int {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	var children []string
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, strings.Fields(string(text))...)
	}
	child, err := strconv.Atoi(strings.Join(children, " "))
	if err != nil {
		t.Fatalf("the children are %q", children)
	}
	return child
}

// workersTook checks that the log of a run says how long each of two processes took.
func workersTook(t *testing.T, dir string) {
	t.Helper()
	for line, err := range run.LogLines(filepath.Join(dir, "log.ndjson")) {
		if err != nil {
			t.Fatal(err)
		}
		var took struct {
			Loss   *float64
			First  float64 `json:"worker_seconds/0"`
			Second float64 `json:"worker_seconds/1"`
		}
		if err := json.Unmarshal(line.Text, &took); err != nil {
			t.Fatal(err)
		}
		if took.Loss != nil && (took.First <= 0 || took.Second <= 0 || took.First > 60 || took.First == took.Second) {
			t.Errorf("line %d: %s", line.Number, line.Text)
		}
	}
}

// near compares what logs say of steps and losses.
func near(t *testing.T, got, want string) {
	t.Helper()
	gotLines, wantLines := strings.Fields(got), strings.Fields(want)
	if len(gotLines) != len(wantLines) || len(got) == 0 {
		t.Fatalf("logs of other steps:\n%s\n%s", got, want)
	}
	for i := range gotLines {
		var x, y float64
		fmt.Sscan(gotLines[i], &x)  //nolint:errcheck // lossesIn wrote numbers
		fmt.Sscan(wantLines[i], &y) //nolint:errcheck // lossesIn wrote numbers
		if math.Abs(x-y) > 1e-5*math.Max(1, math.Abs(y)) {
			t.Errorf("together %v, alone %v", x, y)
		}
	}
}

// Processes that would train something else all end with the same words, before a step.
func TestTrainTogetherRefuses(t *testing.T) {
	testruntime.Need(t)
	alone, together := togetherConfig(t)
	dir := filepath.Join(t.TempDir(), "run")
	first, second := startWorker(t, 0, together, dir), startWorker(t, 1, together, dir, "--steps", "46")
	first.ends(t, 2)
	second.ends(t, 2)
	for _, w := range []*worker{first, second} {
		if !strings.Contains(w.said.String(), "has another last step than worker 0") {
			t.Error(w.said.String())
		}
	}

	tests := map[string][]string{
		"name the process that this is with --task worker:0 to worker:1": nil,
		"add --trusted-network":              {"--task", "worker:1"},
		"there are 2 workers":                {"--task", "worker:2", "--trusted-network"},
		"there are 0 parameter servers":      {"--task", "ps:0"},
		`--task is "rank:0"; it is worker:N`: {"--task", "rank:0"},
	}
	for want, args := range tests {
		if _, said := trained(t, 2, append([]string{"train", together, "--dir", dir}, args...)...); !strings.Contains(said, want) {
			t.Errorf("%q: %s", args, said)
		}
	}
	for _, args := range [][]string{{together}, {alone, "--task", "worker:0"}} {
		cmd := exec.CommandContext(t.Context(), "millrace", append([]string{"train", "--dir", dir}, args...)...)
		cmd.Env = append(os.Environ(), `TF_CONFIG={"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}`)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "contradict each other") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
