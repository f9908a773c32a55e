package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord"
)

// longJob writes a dataset and a config with a practically endless number of epochs,
// and returns a command that predicts over it.
func longJob(t *testing.T, out string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tfrecord.NewWriter(&b, tfrecord.None)
	for i := range 10 {
		if err := w.Write(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"type": "independent", "args": map[string]any{
		"dataset":           map[string]any{"type": "dir", "args": map[string]string{"data_dir": data}},
		"target_batch_size": 4, "drop_remainder": false, "epochs": 1 << 40, "num_read_buffer_bytes": 0, "num_prefetch": 1,
		"primary_features": []any{map[string]string{"from_name": "x", "to_name": "x"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"data/a.tfrecords": b.Bytes(), "data/__manifest__.json": []byte(manifest), "loader.json": config} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "millrace", "predict", filepath.Join(dir, "loader.json"), "--model", "../../testdata/models/linear", "--out", out)
	return cmd
}

// running starts a job and returns when the job has printed that it is running.
func running(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr := bufio.NewReader(pipe)
	line, err := stderr.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "predict: ") {
		t.Fatalf("%s, %v", line, err)
	}
	return stderr
}

// rest reads the remaining output of a job, without its lines of progress, and returns
// it with the exit code.
func rest(t *testing.T, cmd *exec.Cmd, stderr *bufio.Reader) (string, int) {
	t.Helper()
	var lines []string
	for {
		line, err := stderr.ReadString('\n')
		if line != "" && !strings.HasPrefix(line, "predict: ") {
			lines = append(lines, line)
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait() // the exit code tells
	return strings.Join(lines, ""), cmd.ProcessState.ExitCode()
}

func TestSignals(t *testing.T) {
	testruntime.Need(t)
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(cli.SignalError{Signal: sig}.Error(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("the tests were started with the signal ignored, as nohup does; the program inherits that")
			}
			dir := t.TempDir()
			out := filepath.Join(dir, "out.npz")
			cmd := longJob(t, out)
			stderr := running(t, cmd)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			said, got := rest(t, cmd, stderr)
			if want := "stopped by " + (cli.SignalError{Signal: sig}).Error() + "; " + out + " is not written\n"; got != code || said != want {
				t.Errorf("exit code %d, want %d; stderr:\n%s", got, code, said)
			}
			nothingIn(t, dir)
		})
	}
}

// waitingModel returns a copy of a model whose init operation waits forever for an
// element of a queue.
func waitingModel(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/models/linear")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "fingerprint.pb")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "saved_model.pb")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var m tfproto.SavedModel
	if err := proto.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	bools := &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: []tfproto.DataType{tfproto.DataType_DT_BOOL}}}}
	g := m.MetaGraphs[0].GraphDef
	g.Node = append(g.Node,
		&tfproto.NodeDef{Name: "queue", Op: "FIFOQueueV2", Attr: map[string]*tfproto.AttrValue{"component_types": bools}},
		&tfproto.NodeDef{Name: "wait", Op: "QueueDequeueV2", Input: []string{"queue"}, Attr: map[string]*tfproto.AttrValue{"component_types": bools}})
	const initOp = "__saved_model_init_op"
	m.MetaGraphs[0].SignatureDef[initOp].Outputs[initOp].Encoding = &tfproto.TensorInfo_Name{Name: "wait"}
	if data, err = proto.Marshal(&m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A model that loads forever does not keep the command from stopping.
func TestSignalWhileTheModelLoads(t *testing.T) {
	testruntime.Need(t)
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(cli.SignalError{Signal: sig}.Error(), func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			out := filepath.Join(dir, "out.npz")
			cmd := longJob(t, out)
			cmd.Args[slices.Index(cmd.Args, "--model")+1] = waitingModel(t)
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			pipe, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// The model's private folder is made when the loading begins.
			for entries := []os.DirEntry(nil); len(entries) == 0; runtime.Gosched() {
				if entries, err = os.ReadDir(temp); err != nil || t.Context().Err() != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			said, got := rest(t, cmd, bufio.NewReader(pipe))
			if want := "stopped by " + (cli.SignalError{Signal: sig}).Error() + "; " + out + " is not written\n"; got != code || said != want {
				t.Errorf("exit code %d, want %d; stderr:\n%s", got, code, said)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("there is an output")
			}
		})
	}
}

// nothingIn fails if a folder holds anything.
func nothingIn(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left behind", e.Name())
	}
}

// TestKilled kills a job. A later job with the same output succeeds, and one at the
// same time does not.
func TestKilled(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.ndjson")
	cmd := longJob(t, out)
	stderr := running(t, cmd)
	said, code := finished(t, longJob(t, out))
	if code != 7 || !strings.Contains(said, "another process is writing this output") {
		t.Errorf("beside another job: exit code %d, stderr:\n%s", code, said)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest(t, cmd, stderr)
	if _, err := os.Stat(out); err == nil {
		t.Error("the killed job left an output")
	}
	next := longJob(t, out)
	stderr = running(t, next)
	if err := next.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest(t, next, stderr)
	nothingIn(t, dir)
}

// finished runs a job that ends by itself.
func finished(t *testing.T, cmd *exec.Cmd) (string, int) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // the exit code tells
	return stderr.String(), cmd.ProcessState.ExitCode()
}
