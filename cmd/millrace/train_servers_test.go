package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"millrace/estimator/run"
	"millrace/internal/test/address"
	"millrace/internal/test/fixture"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
)

// withCluster writes a run config like another one, of parameter servers and workers.
func withCluster(t *testing.T, config string, servers, workers int) string {
	t.Helper()
	free := address.Free(t, servers+workers)
	return changeConfig(t, config, filepath.Join(filepath.Dir(config), fmt.Sprintf("servers-%d-%d.json", servers, workers)), func(c fixture.Object) {
		c["cluster"] = fixture.Object{"ps": free[:servers], "worker": free[servers:], "timeout": 60}
	})
}

// trainServers trains with parameter servers and two workers until all processes have ended.
func trainServers(t *testing.T, config, dir string, servers int, args ...string) {
	t.Helper()
	var all []*worker
	for i := range servers {
		all = append(all, startTask(t, fmt.Sprint("ps:", i), config, dir))
	}
	for i := range 2 {
		all = append(all, startTask(t, fmt.Sprint("worker:", i), config, dir, args...))
	}
	for _, w := range all {
		w.ends(t, 0)
	}
}

// lastLoss returns the step and the loss in the last line of a log that has one.
func lastLoss(t *testing.T, dir string) (step int64, loss float64) {
	t.Helper()
	loss = math.NaN()
	for line, err := range run.LogLines(filepath.Join(dir, "log.ndjson")) {
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Step int64
			Loss *float64
		}
		if err := json.Unmarshal(line.Text, &got); err != nil {
			t.Fatal(err)
		}
		if got.Loss != nil {
			step, loss = got.Step, *got.Loss
		}
	}
	return step, loss
}

// Two workers train by two parameter servers. The training continues with one, by all-reduce,
// and in a process alone.
func TestTrainServers(t *testing.T) {
	testruntime.Need(t)
	alone, together := togetherConfig(t)
	dir, reference := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	trained(t, 0, "train", alone, "--dir", reference)
	trainServers(t, withCluster(t, alone, 2, 2), dir, 2)
	_, want := lastLoss(t, reference)
	if step, got := lastLoss(t, dir); step < 40 || math.Abs(got-want) > 0.1*want {
		t.Errorf("step %d has the loss %v, alone %v", step, got, want)
	}
	if x, y := variablesAt(t, reference, 45), variablesAt(t, dir, 45); len(x) == 0 || len(x) != len(y) {
		t.Errorf("a checkpoint of %d tensors, alone of %d", len(y), len(x))
	}
	trainServers(t, withCluster(t, alone, 1, 2), dir, 1, "--steps", "60")
	second := startWorker(t, 1, together, dir, "--steps", "75")
	trained(t, 0, "train", together, "--dir", dir, "--task", "worker:0", "--trusted-network", "--steps", "75")
	second.ends(t, 0)
	if _, said := trained(t, 0, "train", alone, "--dir", dir, "--steps", "90"); strings.Contains(said, "begin as in a new training") {
		t.Error(said)
	}
	if step, _ := lastLoss(t, dir); step != 90 {
		t.Errorf("the last step is %d", step)
	}
}

// lines calls f for each line of a process's progress, and waits for its end.
func (w *worker) lines(t *testing.T, f func(n int)) {
	t.Helper()
	pipe, err := w.StderrPipe()
	if err == nil {
		err = w.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(pipe)
	for n := 0; said.Scan(); n++ {
		fmt.Fprintln(&w.said, said.Text())
		f(n)
	}
	w.ends(t, 0)
}

// A parameter server that is killed gets its variables back from the last checkpoint, and a
// worker that is killed takes part again: the loss is as good as without failures.
func TestTrainServersKilled(t *testing.T) {
	testruntime.Need(t)
	alone, _ := togetherConfig(t)
	setTrain(t, alone, fixture.Object{"loader": "loader.json", "steps": 300, "log_every": 10}, 20)
	config := withCluster(t, alone, 2, 2)
	whole := filepath.Join(t.TempDir(), "run")
	trainServers(t, config, whole, 2)
	_, want := lastLoss(t, whole)
	victims := []string{"ps:1", "worker:0", "worker:1", "ps:0"}
	for _, victim := range victims[:soak.Rounds(2, len(victims))] {
		t.Run(victim, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			all := map[string]*worker{}
			for _, task := range []string{"ps:0", "ps:1", "worker:1"} {
				all[task] = startTask(t, task, config, dir, "--restarts", "3")
			}
			first := newTask(t, "worker:0", config, dir, "--restarts", "3")
			all["worker:0"] = first
			first.lines(t, func(n int) {
				if n == 12 {
					if err := syscall.Kill(onlyChild(t, all[victim].Process.Pid), syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			})
			for task, w := range all {
				if task != "worker:0" {
					w.ends(t, 0)
				}
			}
			if said := all[victim].said.String(); !strings.Contains(said, "ended by SIGKILL; restart 1 of 3") {
				t.Error(said)
			}
			step, got := lastLoss(t, dir)
			if other, loss := lastLoss(t, filepath.Join(dir, "workers", "1")); other > step {
				step, got = other, loss // worker 0 was away while worker 1 made the last steps
			}
			if step < 280 || math.Abs(got-want) > 0.02*want {
				t.Errorf("step %d has the loss %v, and without failures %v", step, got, want)
			}
		})
	}
}

// Processes that would train something else, or that wait for one that never comes, all end
// with the same words before a step.
func TestTrainServersRefuse(t *testing.T) {
	testruntime.Need(t)
	alone, _ := togetherConfig(t)
	dir := filepath.Join(t.TempDir(), "run")
	config := withCluster(t, alone, 1, 2)
	ps, first, second := startTask(t, "ps:0", config, dir), startTask(t, "worker:0", config, dir), startTask(t, "worker:1", config, dir, "--steps", "46")
	for _, w := range []*worker{ps, first, second} {
		w.ends(t, 2)
		if !strings.Contains(w.said.String(), "has another last step than worker 0") {
			t.Error(w.said.String())
		}
	}

	if _, said := trained(t, 2, "train", config, "--dir", dir, "--task", "ps:1", "--trusted-network"); !strings.Contains(said, "there are 1 parameter servers, numbered from 0") {
		t.Error(said)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(filepath.Dir(config), "short.json")
	if err := os.WriteFile(short, bytes.Replace(text, []byte(`"timeout":60`), []byte(`"timeout":3`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	var c struct{ Cluster struct{ PS, Worker []string } }
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	missing := c.Cluster
	if _, said := trained(t, 8, "train", short, "--dir", dir, "--task", "worker:0", "--trusted-network"); !strings.Contains(said, "after 3s: parameter server 0 at "+missing.PS[0]+" has not yet come") {
		t.Error(said)
	}
	ps = startTask(t, "ps:0", short, dir)
	if _, said := trained(t, 8, "train", short, "--dir", dir, "--task", "worker:0", "--trusted-network"); !strings.Contains(said, "after 3s: worker 1 at "+missing.Worker[1]+" has not yet come") {
		t.Error(said)
	}
	if ps.ends(t, 8); !strings.Contains(ps.said.String(), "worker 0 at "+missing.Worker[0]+" has not answered for 3s") {
		t.Error(ps.said.String())
	}
}
