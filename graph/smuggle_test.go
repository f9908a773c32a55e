package graph_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/savedmodel"
)

var updateTricks = flag.Bool("update", false, "write docs/audit/models.md")

const tricksPage = "../docs/audit/models.md"

// TestTricks gives every trick to the check. Those that it accepts are loaded
// and run in a process whose files and sockets are watched: see
// TestHarmlessTricks.
func TestTricks(t *testing.T) {
	for i, trick := range tricks {
		t.Run(trick.what, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			s := layTrick(t, base, i)
			_, err := savedmodel.Read(s.dir, nil)
			switch {
			case trick.harmless != "":
				if err != nil {
					t.Errorf("refused: %v", err)
				}
			case err == nil:
				t.Error("accepted")
			case !errors.Is(err, millrace.ErrUnsafeModel) && !errors.Is(err, millrace.ErrModel):
				t.Errorf("an error of no class: %v", err)
			default:
				t.Log(err)
			}
			onlyHost(t, s.host)
		})
	}
}

// layTrick writes the model of a trick to base/model, and what it wants to
// touch to base/host.
func layTrick(t *testing.T, base string, i int) *smuggled {
	t.Helper()
	host := filepath.Join(base, "host")
	if err := os.MkdirAll(host, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(host, "secret"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(host, "pipe"), 0o600); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	s := newSmuggled(t, filepath.Join(base, fmt.Sprint("model", i)), host)
	s.file("variables/.empty", "")
	if err := os.RemoveAll(filepath.Join(s.dir, "variables")); err != nil {
		t.Fatal(err)
	}
	tricks[i].build(s)
	s.write()
	return s
}

// onlyHost fails if anything was written to the host's folder.
func onlyHost(t *testing.T, host string) {
	t.Helper()
	entries, err := os.ReadDir(host)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile(filepath.Join(host, "secret"))
	if err != nil || string(secret) != "secret\n" || len(entries) != 2 {
		t.Errorf("the host's folder has %d entries, the file in it %q, %v", len(entries), secret, err)
	}
}

// TestHarmlessTricks loads and runs every trick that is not refused, in a process under
// strace. The process may read any file outside the host's folder, may write only to
// its private folder, and may neither start a program nor use the network. As a
// control, a model with an allowed ReadFile shows that the test notices such a read.
func TestHarmlessTricks(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "strace", "-qq", "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("needs strace and the right to trace: %v, %s", err, out)
	}
	base := t.TempDir()
	var dirs []string
	for i, trick := range tricks {
		if trick.harmless != "" && trick.harmless != returnsError {
			dirs = append(dirs, layTrick(t, base, i).dir)
		}
	}
	seen := watch(t, base, "", dirs)
	for _, what := range seen {
		t.Errorf("the process did what it must not: %s", what)
	}
	onlyHost(t, filepath.Join(base, "host"))

	control := newSmuggled(t, filepath.Join(base, "control"), filepath.Join(base, "host"))
	control.constant("f", control.at("secret"))
	control.node("r", "ReadFile", "f")
	control.graph().Node[1].Input[0] = "r" // the signature gives what is in the file
	control.write()
	if seen := watch(t, base, "ReadFile", []string{control.dir}); len(seen) == 0 {
		t.Error("the watch does not see a file that is read")
	}
}

// TestFailingTricks loads and runs the tricks for which TensorFlow returns an error.
// The process lives on.
func TestFailingTricks(t *testing.T) {
	base := t.TempDir()
	for i, trick := range tricks {
		if trick.harmless != returnsError {
			continue
		}
		s := layTrick(t, base, i)
		m, err := graph.LoadModel(s.dir, nil)
		if err == nil {
			_, err = m.Call(t.Context(), "", map[string]any{"x": "value"})
			m.Close()
		}
		if err == nil {
			t.Errorf("%s: no error", trick.what)
		}
		onlyHost(t, s.host)
	}
}

// watch loads and runs models in a separate process, and returns the system calls that
// a model has no reason to make.
func watch(t *testing.T, base, allowed string, dirs []string) []string {
	t.Helper()
	temp, work, log := filepath.Join(base, "temp"), filepath.Join(base, "work"), filepath.Join(base, "strace.log")
	for _, dir := range []string{temp, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-s", "4096", "-o", log, "--seccomp-bpf",
		"-e", "trace=%file,%network", program, "-test.run=^TestTrickChild$", "-test.v")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "MILLRACE_TEST_TRICKS="+strings.Join(dirs, "\n"), "MILLRACE_TEST_ALLOW="+allowed, "TMPDIR="+temp)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "ran model ") != len(dirs) {
		t.Fatalf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("written to the working directory: %v, %v", left, err)
	}
	trace, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return suspicious(trace, filepath.Join(base, "host"), temp)
}

var (
	network = regexp.MustCompile(`\b(connect|bind|listen|accept4?|sendto|sendmsg)\(|socket\(AF_INET`)
	started = regexp.MustCompile(`\bexecve(at)?\(`)
	own     = regexp.MustCompile(`"/dev/|"/proc/self/task/[0-9]+/comm"`) // threads get names
	changes = regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|\b(mkdir|mkdirat|rename\w*|unlink|link|linkat|symlink\w*|truncate|chmod|mknod\w*)\(`)
)

// suspicious returns the lines of a trace that a model has no reason for.
func suspicious(trace []byte, host, temp string) []string {
	var seen []string
	programs := 0
	for lines := bufio.NewScanner(bytes.NewReader(trace)); lines.Scan(); {
		line := lines.Text()
		changed := changes.MatchString(line) && !own.MatchString(line) && !strings.Contains(line, `"`+temp)
		if started.MatchString(line) {
			programs++
		}
		if changed || strings.Contains(line, host) || network.MatchString(line) || programs > 1 && started.MatchString(line) {
			seen = append(seen, line)
		}
	}
	return seen
}

// TestTrickChild is the process that is watched.
func TestTrickChild(t *testing.T) {
	dirs := os.Getenv("MILLRACE_TEST_TRICKS")
	if dirs == "" {
		t.Skip("a part of TestHarmlessTricks")
	}
	var o graph.ModelOptions
	if op := os.Getenv("MILLRACE_TEST_ALLOW"); op != "" {
		o.AllowOps = []string{op}
	}
	for _, dir := range strings.Split(dirs, "\n") {
		m, err := graph.LoadModel(dir, &o)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		outputs, err := m.Call(t.Context(), "", map[string]any{"x": "value"})
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, o := range outputs {
			if o.Value() != "value" && o.Value() != "secret\n" {
				t.Errorf("%s gives %v", dir, o.Value())
			}
			o.Close()
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		fmt.Println("ran model", dir)
	}
}

// The page about the tricks lists them all.
func TestTricksPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Models that try to touch the host\n\n" +
		"Each row is a SavedModel that a test builds byte by byte (`graph.TestTricks`). What is refused is refused before\n" +
		"TensorFlow sees it. What is harmless is loaded and run in a process whose system calls are watched\n" +
		"(`graph.TestHarmlessTricks`): it opens nothing outside the model, writes to its private folder only, and uses no network.\n" +
		"[robustness.md](../robustness.md) says how the check works.\n\n" +
		"A jax2tf model of fixed shapes loads as sound. One of polymorphic shapes or with shardings holds custom calls, and is refused without\n" +
		"`--allow-op XlaCallModule`: [rationale.md](../rationale.md) says why.\n\n" +
		"| | the model | what happens |\n|---|---|---|\n")
	for i, trick := range tricks {
		verdict := "refused"
		if trick.harmless != "" {
			verdict = "harmless: " + trick.harmless
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", i+1, trick.what, verdict)
	}
	if *updateTricks {
		if err := os.WriteFile(tricksPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(tricksPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(page)); diff != "" {
		t.Errorf("%s is out of date; run this test with -update (-want +got):\n%s", tricksPage, diff)
	}
	if len(tricks) < 40 {
		t.Errorf("%d tricks", len(tricks))
	}
}
