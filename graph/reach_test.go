package graph_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/testruntime"
	"millrace/sandbox"
	"millrace/savedmodel"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// A reaching is a reach at a place, with its host.
type reaching struct {
	reach     *reach
	place     *reachPlace
	host      string
	before    string // the state of the host
	callers   *atomic.Int32
	modelPath string
}

func (r *reaching) String() string { return r.reach.what + " in " + r.place.name }

// TestReach has models touch the host by each operation of TensorFlow that can,
// wherever it may stand in a model. The policy refuses all of them. With the policy
// switched off each does touch the host; in the sandbox none does. The test looks at
// effects: what the output holds, which files changed, whether a server was called.
func TestReach(t *testing.T) {
	testruntime.Need(t)
	free := layReaches(t)
	for _, r := range free {
		if _, err := savedmodel.Read(r.modelPath, nil); !errors.Is(err, millrace.ErrUnsafeModel) {
			t.Errorf("%s: the policy says: %v", r, err)
		}
	}
	said := tryReaches(t, free, sandbox.Off)
	for i, r := range free {
		if r.touched(t, said[i]) == "" {
			t.Errorf("%s: does nothing without the sandbox: %s", r, said[i])
		}
	}
	if p := sandbox.Available(); !p.Whole() {
		t.Skipf("SKIPPED: THE SANDBOX IS NOT TESTED: this kernel offers: %s", p)
	}
	confined := layReaches(t)
	said = tryReaches(t, confined, sandbox.Require)
	for i, r := range confined {
		if touched := r.touched(t, said[i]); touched != "" {
			t.Errorf("%s: in the sandbox: %s", r, touched)
		}
	}
}

// layReaches writes a model for each reach and place.
func layReaches(t *testing.T) (all []*reaching) {
	base := t.TempDir()
	template := hostTemplate(t)
	for n, r := range slices.Concat(readers, writers, callers) {
		places := len(reachPlaces)
		if n >= len(readers)+len(writers) {
			places = 1
		}
		for i := range places {
			name := fmt.Sprintf("%03d", len(all))
			one := &reaching{reach: &r, place: &reachPlaces[i], host: filepath.Join(base, "hosts", name), callers: new(atomic.Int32), modelPath: filepath.Join(base, "models", name)}
			if err := os.CopyFS(one.host, os.DirFS(template)); err != nil {
				t.Fatal(err)
			}
			one.before = stateOf(t, one.host)
			layReach(newSmuggled(t, one.modelPath, one.host), countCallers(t, one.callers), one.reach, one.place)
			all = append(all, one)
		}
	}
	return all
}

// hostTemplate makes a folder with what the readers read.
func hostTemplate(t *testing.T) string {
	dir := t.TempDir()
	var records bytes.Buffer
	w := tfrecord.NewWriter(&records, tfrecord.None)
	if err := errors.Join(w.Write([]byte(hostSecret)), w.Close()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"secret": hostSecret, "named" + hostSecret: "", "records": records.String(), "words": "a\nb\nc\n", "reversed": "c\nb\na\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	model := newSmuggled(t, filepath.Join(t.TempDir(), "model"), dir)
	layReach(model, "", &reach{build: func(b *reachBody) string {
		const number = 135792
		v1 := b.do("Save", in(b.text(b.at("v1")), b.texts(dims{1}, "f"), b.float(dims{1}, number)), "T", []tfproto.DataType{f32})
		v2 := b.do("SaveV2", in(b.text(b.at("v2")), b.texts(dims{2}, "f", "s"), b.texts(dims{2}, "", ""), b.float(dims{1, 1}, number), b.text(hostSecret)), "dtypes", []tfproto.DataType{f32, str})
		return b.done(v1, v2)
	}}, &reachPlaces[0])
	if said := tryReach(t.Context(), model.dir); !strings.HasPrefix(said, "output") {
		t.Fatal(said)
	}
	return dir
}

// countCallers starts a TCP server and returns its address.
func countCallers(t *testing.T, n *atomic.Int32) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// stateOf describes the files of a folder: their names, modes and contents.
func stateOf(t *testing.T, dir string) string {
	var state strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || e.IsDir() {
			fmt.Fprintln(&state, path, e)
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&state, "%s %v %x\n", path, info.Mode(), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return state.String()
}

// touched describes how the host was touched, from its state and from the output of the
// process.
func (r *reaching) touched(t *testing.T, said string) string {
	switch {
	case r.callers.Load() > 0:
		return "a server was called"
	case stateOf(t, r.host) != r.before:
		return "the host's files changed"
	case r.reach.leak != "" && strings.HasPrefix(said, "output") && strings.Contains(said, r.reach.leak):
		return said
	}
	return ""
}

// tryReaches loads and runs the models in a separate process, and returns the output
// for each.
func tryReaches(t *testing.T, all []*reaching, mode sandbox.Mode) []string {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestReachChild$", "-test.v")
	cmd.Env = append(os.Environ(), "MILLRACE_TEST_REACH="+filepath.Dir(all[0].modelPath), "MILLRACE_TEST_SANDBOX="+string(mode), "MILLRACE_TEST_SECRET="+hostSecret)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := make([]string, len(all))
	for line := range strings.Lines(string(out)) {
		number, text, found := strings.Cut(strings.TrimPrefix(line, "reach "), ": ")
		var i int
		if _, err := fmt.Sscanf(number, "%03d", &i); found && err == nil && strings.HasPrefix(line, "reach ") {
			said[i] = text
		}
	}
	for i, s := range said {
		if s == "" {
			t.Fatalf("%s was not tried:\n%s", all[i], out)
		}
	}
	return said
}

// reachTime is the longest time for a model: one calls a server again and again.
const reachTime = 3 * time.Second

// TestReachChild is the process that runs models.
func TestReachChild(t *testing.T) {
	dir, mode := os.Getenv("MILLRACE_TEST_REACH"), sandbox.Mode(os.Getenv("MILLRACE_TEST_SANDBOX"))
	if dir == "" {
		t.Skip("a part of TestReach")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := tfbridge.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	temp, err := sandbox.NewTemp()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.Restrict(&sandbox.Policy{Read: []string{dir, runtime.Dir()}, Temp: temp}, mode); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		said := make(chan string, 1)
		go func() { said <- tryReach(t.Context(), filepath.Join(dir, e.Name())) }()
		select {
		case s := <-said:
			fmt.Printf("\nreach %s: %s\n", e.Name(), s)
		case <-time.After(reachTime + time.Second):
			fmt.Printf("\nreach %s: does not end\n", e.Name())
		}
	}
	temp.Close()
	os.Exit(0) // models that never end cannot be closed
}

// tryReach loads and runs a model, and reports the result in one line.
func tryReach(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	m, err := graph.LoadModel(dir, &graph.ModelOptions{Unchecked: true})
	if err != nil {
		return fmt.Sprintf("not loaded: %q", err)
	}
	defer m.Close()
	outputs, err := m.Call(ctx, "", map[string]any{"x": "value"})
	if err != nil {
		return fmt.Sprintf("not run: %q", err)
	}
	defer outputs["y"].Close()
	return fmt.Sprintf("output %q", outputs["y"].Value())
}

// reachPage lists what TestReach tries.
const reachPage = "../docs/audit/sandbox.md"

// TestReachPage compares the page with the operations. With -update it writes the page.
func TestReachPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(reachIntroduction)
	for i, r := range slices.Concat(readers, writers, callers) {
		effect := "changes files outside"
		switch {
		case i < len(readers):
			effect = "its output holds what is outside"
		case i >= len(readers)+len(writers):
			effect = "connects to a server"
		}
		fmt.Fprintf(&page, "| %d | %s | %s | nothing | refused |\n", i+1, r.what, effect)
	}
	if *updateTricks {
		if err := os.WriteFile(reachPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(reachPage)
	if err != nil || string(text) != page.String() {
		t.Errorf("%s is not what the operations say, %v; go test ./graph -run TestReachPage -update writes it", reachPage, err)
	}
}

var reachIntroduction = fmt.Sprintf(`# Models that touch the host, and the sandbox

The test graph.TestReach builds %d models: each operation below stands in the graph itself, in a function, in the branch of
an If, in the body of a loop and in the function of a dataset. With the policy switched off and without the sandbox, each model touches the host:
a file outside is made, changed or removed, the signature's output holds what was read outside, or a server
gets a connection. In [the sandbox](../sandbox.md), with the policy switched off, none of that happens. The policy refuses each of them before TensorFlow
sees it. The test looks at these effects, and needs no trace. The last operation stands in the graph alone: it never ends, and no other can follow it.

TensorFlow has no operation that starts a program, signals a process or traces one. Tests of package sandbox try these from Go.

| | operation | without sandbox and policy | in the sandbox, without policy | by the policy |
|---|---|---|---|---|
`, len(reachPlaces)*(len(readers)+len(writers))+len(callers))
