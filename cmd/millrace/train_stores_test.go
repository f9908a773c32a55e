package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/remotetest"
	"millrace/internal/test/testruntime"
)

// bucket is a store for runs, "s3://runs/...".
type bucket struct {
	*remotetest.Server
	env []string
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	s := remotetest.NewServer()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &bucket{s, append(os.Environ(), "AWS_ENDPOINT_URL="+server.URL, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=very-secret")}
}

// command returns a command of millrace that uses the store.
func (b *bucket) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "millrace", args...)
	cmd.Env = b.env
	return cmd
}

// run runs a command and returns its output.
func (b *bucket) run(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := b.command(t, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%q: %v, want exit code %d\n%s", args, err, code, said.String())
	}
	return out.String(), said.String()
}

// save copies the objects below a path to a folder.
func (b *bucket) save(t *testing.T, path string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, p := range b.Paths() {
		name, ok := strings.CutPrefix(p, path+"/")
		if !ok {
			continue
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b.Object(p), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var markedPrefix = regexp.MustCompile(`model_checkpoint_path: "(ckpt-\d+)"`)

// checkWhole fails if the marker below a path names a checkpoint that is not whole, or one with
// steps that the log does not have.
func (b *bucket) checkWhole(t *testing.T, path string) {
	t.Helper()
	for _, p := range b.Paths() {
		name, ok := strings.CutSuffix(p, ".json")
		if ok && strings.HasPrefix(p, path+"/checkpoints/ckpt-") && (b.Object(name+".index") == nil || b.Object(name+".data-00000-of-00001") == nil) {
			t.Errorf("%s is there before the other files", p)
		}
	}
	marker := b.Object(path + "/checkpoints/checkpoint")
	if marker == nil {
		return
	}
	m := markedPrefix.FindSubmatch(marker)
	if m == nil {
		t.Errorf("a marker without a checkpoint: %s", marker)
		return
	}
	name := string(m[1])
	for _, end := range []string{".data-00000-of-00001", ".index", ".json"} {
		if b.Object(path+"/checkpoints/"+name+end) == nil {
			t.Errorf("the marker names %s, whose %s is missing", name, end)
		}
	}
	if line := `"step":` + strings.TrimPrefix(name, "ckpt-"); !bytes.Contains(b.Object(path+"/log.ndjson"), []byte(line)) {
		t.Errorf("the marker names %s, and the log has no line of that step", name)
	}
}

// storedRun returns a run config for the tests of this file, and the folder of a run that was not
// disturbed.
func storedRun(t *testing.T) (config, whole string) {
	t.Helper()
	config = runConfig(t, fixture.Points(t, 4, fixture.Shuffled()), func(c fixture.Object) {
		c["evaluate"] = fixture.Object{"loader": "loader.json", "every_steps": 30, "steps": 3}
	})
	setTrain(t, config, fixture.Object{"loader": "loader.json", "steps": 70, "log_every": 5}, 10)
	whole = filepath.Join(t.TempDir(), "run")
	trained(t, 0, "train", config, "--dir", whole)
	return config, whole
}

// A run in a store that is killed at each of its requests that write ends with the same bits as
// one on a disk. At no moment the marker names what is not there.
func TestTrainKilledInStore(t *testing.T) {
	testruntime.Need(t)
	config, whole := storedRun(t)
	for _, at := range []string{"ckpt-20.data", "ckpt-20.index", "ckpt-20.json", "log.ndjson", "checkpoints/checkpoint", "DELETE ckpt-10.json"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			b := newBucket(t)
			cmd := b.command(t, "train", config, "--dir", "s3://runs/a")
			method, name, ok := strings.Cut(at, " ")
			if !ok {
				method, name = http.MethodPut, at
			}
			var killed atomic.Bool
			b.Fault = func(_ int, r *http.Request) (f remotetest.Fault) {
				b.checkWhole(t, "/runs/a")
				if r.Method == method && strings.Contains(r.URL.Path, name) && b.Object("/runs/a/checkpoints/ckpt-10.json") != nil && killed.CompareAndSwap(false, true) {
					cmd.Process.Signal(syscall.SIGKILL)
					if f.Lost = strings.HasPrefix(name, "ckpt-20.i"); !f.Lost { // carried out, or not
						f.Status = http.StatusInternalServerError
					}
				}
				return f
			}
			err := cmd.Run()
			if status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
				t.Fatalf("it ended before it was killed: %v", err)
			}
			_, said := b.run(t, 0, "train", config, "--dir", "s3://runs/a")
			if !strings.Contains(said, "going on after step ") {
				t.Errorf("it began again: %s", said)
			}
			b.checkWhole(t, "/runs/a")
			sameRun(t, whole, b.save(t, "/runs/a"))
			if b.Uploads() != 0 {
				t.Error("an upload is left")
			}
		})
	}
}

// Each command that reads the folder of a run reads its URL.
func TestRunInStore(t *testing.T) {
	testruntime.Need(t)
	config, whole := storedRun(t)
	b := newBucket(t)
	b.run(t, 0, "train", config, "--dir", "s3://runs/a")
	for _, args := range [][]string{{"evaluate", config, "--json"}, {"evaluate", config, "--json", "--watch"}} {
		want, _ := trained(t, 0, append(args, "--dir", whole)...)
		got, _ := b.run(t, 0, append(args, "--dir", "s3://runs/a")...)
		if withoutTimes(got) != withoutTimes(want) {
			t.Errorf("%q\ngot  %s\nwant %s", args, got, want)
		}
	}
	trained(t, 0, "export", whole)
	b.run(t, 0, "export", "s3://runs/a")
	name := "variables/variables.data-00000-of-00001"
	if want, err := os.ReadFile(filepath.Join(whole, "export", name)); err != nil || !bytes.Equal(b.Object("/runs/a/export/"+name), want) {
		t.Errorf("the export has other values, %v", err)
	}
	predict := []string{"predict", finite(t, filepath.Join(filepath.Dir(config), "loader.json")), "--model", "../../testdata/models/classifier", "--keep", "id", "--out"}
	rows := filepath.Join(t.TempDir(), "rows.ndjson")
	trained(t, 0, append(predict, rows)...)
	want, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	b.run(t, 0, append(predict, "s3://runs/rows.ndjson")...)
	b.run(t, 0, append(predict, "s3://runs/parts.ndjson", "--part-batches", "2")...)
	if got := b.Object("/runs/rows.ndjson"); !bytes.Equal(got, want) || len(got) == 0 {
		t.Errorf("predict wrote %d bytes, want %d", len(got), len(want))
	}
	if b.Object("/runs/parts.ndjson/_SUCCESS") == nil || b.Object("/runs/parts.ndjson/part-00001.ndjson") == nil {
		t.Errorf("predict in parts wrote %q", b.Paths())
	}
	if out, _ := b.run(t, 0, "report", "s3://runs/a"); out != "s3://runs/a/report.html\n" || !bytes.Contains(b.Object("/runs/a/report.html"), []byte("<svg")) {
		t.Errorf("no report in %s", out)
	}
	saved := b.save(t, "/runs/a")
	for _, part := range []string{"train", "evaluate"} {
		got, want := scalars(t, filepath.Join(saved, "events", part), "loss"), scalars(t, filepath.Join(whole, "events", part), "loss")
		if len(got) != len(want) {
			t.Errorf("events of %s: %d values, want %d", part, len(got), len(want))
		}
	}
	if out, _ := b.run(t, 0, "train", config, "--dir", "s3://runs/a"); !strings.Contains(out, "finished already: step 70") {
		t.Errorf("the same command said %s", out)
	}
	_, said := b.run(t, 0, "train", config, "--dir", "s3://runs/b", "--init", "s3://runs/a", "--steps", "5")
	if !strings.Contains(said, "init: ") {
		t.Errorf("weights of another run: %s", said)
	}
}

// finite returns a copy of a loader config with one epoch.
func finite(t *testing.T, path string) string {
	t.Helper()
	return changeConfig(t, path, path+".finite.json", func(c fixture.Object) { c["args"].(map[string]any)["epochs"] = 1 })
}

// withoutTimes returns the lines of evaluate --json without the times.
func withoutTimes(text string) string {
	return regexp.MustCompile(`,"seconds".*`).ReplaceAllString(text, "")
}

// A store that fails for a while delays a training. One that refuses ends it with one line, and
// the same command continues after the last whole checkpoint.
func TestTrainStoreFaults(t *testing.T) {
	testruntime.Need(t)
	config, whole := storedRun(t)
	writes := func(r *http.Request) bool { return r.Method == http.MethodPut }
	tests := []struct {
		name  string
		fault func(n int, r *http.Request) remotetest.Fault
		says  string // "": it ends well
	}{
		{"503 for 5 requests", func(n int, r *http.Request) (f remotetest.Fault) {
			if n > 60 && n <= 65 {
				f = remotetest.Fault{Status: 503, Code: "SlowDown"}
			}
			return f
		}, ""},
		{"each second write cut", func(n int, r *http.Request) (f remotetest.Fault) {
			if writes(r) && n%2 == 0 {
				f.CutAt = 1
			}
			return f
		}, ""},
		{"answers lost", func(n int, r *http.Request) (f remotetest.Fault) {
			f.Lost = writes(r) && n%3 == 0
			return f
		}, ""},
		{"no permission to write", func(n int, r *http.Request) (f remotetest.Fault) {
			if writes(r) {
				f = remotetest.Fault{Status: 403, Code: "AccessDenied"}
			}
			return f
		}, "s3://runs/a/checkpoints/probe: "},
		{"credentials lost in the middle", func(n int, r *http.Request) (f remotetest.Fault) {
			if n > 80 {
				f = remotetest.Fault{Status: 403, Code: "InvalidAccessKeyId"}
			}
			return f
		}, "s3://runs/a/"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBucket(t)
			b.Fault = func(n int, r *http.Request) remotetest.Fault {
				b.checkWhole(t, "/runs/a")
				return test.fault(n, r)
			}
			if test.says != "" {
				_, said := b.run(t, 7, "train", config, "--dir", "s3://runs/a")
				lines := strings.Split(strings.TrimSpace(said), "\n")
				if last := lines[len(lines)-1]; !strings.Contains(last, test.says) || strings.Count(said, "s3://") != 1 || strings.Contains(said, "very-secret") {
					t.Errorf("it said %s", said)
				}
				b.Fault = nil
			}
			b.run(t, 0, "train", config, "--dir", "s3://runs/a")
			sameRun(t, whole, b.save(t, "/runs/a"))
		})
	}
}

// Two trainings in one URL: the one that finds a marker of the other ends.
func TestTrainTwiceInStore(t *testing.T) {
	testruntime.Need(t)
	config, _ := storedRun(t)
	b := newBucket(t)
	var once atomic.Bool
	b.Fault = func(_ int, r *http.Request) (f remotetest.Fault) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "ckpt-20.json") && once.CompareAndSwap(false, true) {
			b.Put("/runs/a/checkpoints/checkpoint", []byte("model_checkpoint_path: \"ckpt-10\"\nlast_preserved_timestamp: 1.5\n"))
		}
		return f
	}
	_, said := b.run(t, 5, "train", config, "--dir", "s3://runs/a")
	if !strings.Contains(said, "s3://runs/a/checkpoints/checkpoint: ") || !strings.Contains(said, "another process has written it") {
		t.Errorf("it said %s", said)
	}
}
