package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"millrace/cmd/millrace/internal/cli"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/internal/test/fixture"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
)

// killedRuns are runs whose data is shuffled, one for each type of loader.
var killedRuns = map[string]func(t testing.TB) string{
	"independent": func(t testing.TB) string {
		return runConfig(t, fixture.Points(t, 4, fixture.Shuffled()), nil)
	},
	"continuous_sequence": func(t testing.TB) string { return windowsRun(t, "continuous_sequence") },
	"discrete_sequence":   func(t testing.TB) string { return windowsRun(t, "discrete_sequence") },
}

// windowsRun writes a run config over sequences.
func windowsRun(t testing.TB, kind string) string {
	t.Helper()
	model, err := filepath.Abs("../../testdata/models/windows")
	if err != nil {
		t.Fatal(err)
	}
	return runConfig(t, fixture.Waves(t, kind), func(c fixture.Object) { c["model"] = fixture.Object{"saved_model": model} })
}

// A run that is killed several times, at any moment, and resumed by the same command
// ends with the same bits as a run that was not killed (F01).
func TestTrainKilled(t *testing.T) {
	testruntime.Need(t)
	kills := soak.Rounds(1, 50)
	for name, write := range killedRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := write(t)
			setTrain(t, config, fixture.Object{"loader": "loader.json", "steps": 150 * (kills + 1), "log_every": 3}, 7)
			whole, killed := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
			trained(t, 0, "train", config, "--dir", whole)
			random := rand.New(rand.NewPCG(1, 2))
			for range kills {
				killAt(t, 1+random.IntN(45), "train", config, "--dir", killed)
			}
			trained(t, 0, "train", config, "--dir", killed)
			sameRun(t, whole, killed)
		})
	}
}

// killAt starts a command and kills it when it has printed some lines.
func killAt(t testing.TB, lines int, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "millrace", args...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(pipe)
	for i := 0; i < lines && said.Scan(); i++ {
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatalf("it ended before it was killed: %v", err)
	}
	for said.Scan() {
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		t.Errorf("it ended before it was killed, with code %d", status.ExitStatus())
	}
}

// sameRun compares the variables in the last checkpoints of two runs, and their logs
// without the times. The positions in the data cannot be compared, because the amount
// of buffered data differs from run to run.
func sameRun(t testing.TB, a, b string) {
	t.Helper()
	steps, err := checkpoint.Steps(filepath.Join(a, "checkpoints"))
	if err != nil || len(steps) != 5 {
		t.Fatalf("checkpoints of steps %v, %v", steps, err)
	}
	for _, step := range steps {
		if x, y := variablesAt(t, a, step), variablesAt(t, b, step); !maps.Equal(x, y) {
			t.Errorf("step %d: the variables differ", step)
		}
	}
	x, y := lossesIn(t, a), lossesIn(t, b)
	if len(x) == 0 || !bytes.Equal(x, y) {
		t.Errorf("the logs differ:\n%s\n%s", x, y)
	}
}

// variablesAt returns the bytes of the variables in a checkpoint.
func variablesAt(t testing.TB, dir string, step int64) map[string]string {
	t.Helper()
	c, err := checkpoint.Load(filepath.Join(dir, "checkpoints"), step)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, v := range c.Variables {
		if v.DType == dtype.String || v.Name == checkpoint.SaveCounter {
			continue
		}
		read, err := checkpoint.ReadTensors(c.Prefix, []dtype.TensorSpec{v.TensorSpec})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := read[0].WriteContentsTo(&b); err != nil {
			t.Fatal(err)
		}
		values[v.Name] = b.String()
		read[0].Close()
	}
	return values
}

// A signal finishes the step and writes a checkpoint, from which the same command
// resumes (I-01, I-02).
func TestTrainSignals(t *testing.T) {
	testruntime.Need(t)
	config := runConfig(t, fixture.Points(t, 4, fixture.Shuffled()), nil)
	setTrain(t, config, fixture.Object{"loader": "loader.json", "steps": 1 << 40, "log_every": 3}, 1<<40)
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		dir := filepath.Join(t.TempDir(), "run")
		cmd := exec.CommandContext(t.Context(), "millrace", "train", config, "--dir", dir)
		pipe, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := bufio.NewScanner(pipe)
		said.Scan() // the job is running
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		last := ""
		for said.Scan() {
			last = said.Text()
		}
		_ = cmd.Wait() // the exit code tells
		steps, err := checkpoint.Steps(filepath.Join(dir, "checkpoints"))
		if err != nil || len(steps) != 1 {
			t.Fatalf("checkpoints of steps %v, %v", steps, err)
		}
		want := fmt.Sprintf("stopped by %v; the run goes on after step %d with the same command", cli.SignalError{Signal: sig}, steps[0])
		if got := cmd.ProcessState.ExitCode(); got != code || last != want {
			t.Errorf("exit code %d, want %d, and %q, want %q", got, code, last, want)
		}
		next := strconv.FormatInt(steps[0]+1, 10)
		out, _ := trained(t, 0, "train", config, "--dir", dir, "--steps", next)
		if !strings.HasPrefix(out, "step "+next+", ended by steps") {
			t.Errorf("the same command: %s", out)
		}
	}
}
