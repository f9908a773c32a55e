package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A restriction lasts as long as the process, so each test runs its attempts in a child
// process: this test program, with the name of a set of attempts in the environment.
const childEnv, policyEnv = "MILLRACE_SANDBOX_CHILD", "MILLRACE_SANDBOX_POLICY"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		os.Exit(child(name))
	}
	os.Exit(m.Run())
}

// childPolicy describes how a child restricts itself before its attempts.
type childPolicy struct {
	Policy
	Private bool     // whether the sandbox has a folder for temporary files
	Named   bool     // its bound socket is in the policy
	Off     bool     // unrestricted, to see that the attempts work
	Args    []string // arguments of the attempts
}

// child restricts the process, makes the attempts and prints the results.
func child(name string) int {
	var p childPolicy
	if err := json.Unmarshal([]byte(os.Getenv(policyEnv)), &p); err != nil {
		fmt.Println(err)
		return 3
	}
	before := startThread()
	if p.Private {
		var err error
		if p.Policy.Temp, err = NewTemp(); err != nil {
			fmt.Println(err)
			return 3
		}
		defer p.Policy.Temp.Close()
	}
	if err := bindSocket(); err != nil {
		fmt.Println(err)
		return 3
	}
	if p.Named {
		p.Bound = append(p.Bound, boundSocket)
	}
	if !p.Off {
		if _, err := Restrict(&p.Policy, Require); err != nil {
			fmt.Println("restrict:", err)
			return 3
		}
	}
	for where, on := range map[string]func(func()){"old thread": before, "new thread": startThread()} {
		on(func() {
			for _, a := range attempts[name] {
				fmt.Printf("%s: %s: %s\n", where, a.name, outcome(a.do(p.Args)))
			}
		})
	}
	return 0
}

func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// try runs a set of attempts in a child and returns the outcomes by name. The outcomes
// must be the same in both threads of the child.
func try(t *testing.T, name string, p childPolicy) map[string]string {
	t.Helper()
	needKernel(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+name, policyEnv+"="+string(text))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	threads := map[string]map[string]string{}
	for line := range strings.Lines(string(out)) {
		parts := strings.SplitN(strings.TrimSpace(line), ": ", 3)
		if len(parts) != 3 {
			t.Fatalf("the child printed %q", line)
		}
		if threads[parts[0]] == nil {
			threads[parts[0]] = map[string]string{}
		}
		threads[parts[0]][parts[1]] = parts[2]
	}
	for attempt, got := range threads["old thread"] {
		if other := threads["new thread"][attempt]; got != other {
			t.Errorf("%s: an old thread has %q, a new one %q", attempt, got, other)
		}
	}
	if len(threads) != 2 {
		t.Fatalf("the child printed %s", out)
	}
	return threads["old thread"]
}

// needKernel skips the test where the kernel offers too little.
func needKernel(t *testing.T) {
	t.Helper()
	if p := Available(); !p.Whole() {
		t.Skipf("SKIPPED: THE SANDBOX IS NOT TESTED: this kernel offers: %s", p)
	}
}

// want checks that every attempt of a set is denied, or that every one succeeds.
func want(t *testing.T, got map[string]string, allowed bool) {
	t.Helper()
	if len(got) == 0 {
		t.Error("no attempts")
	}
	for name, text := range got {
		denied := strings.Contains(text, "permission denied") || strings.Contains(text, "operation not permitted")
		if allowed && text != "done" || !allowed && !denied {
			t.Errorf("%s: %s, want allowed %v", name, text, allowed)
		}
	}
}

// Without a sandbox every attempt succeeds. So denials in the other tests come from the
// sandbox.
func TestAttempts(t *testing.T) {
	dir := files(t)
	for name := range attempts {
		want(t, try(t, name, childPolicy{Off: true, Args: args(t, dir)}), true)
	}
}

func TestFiles(t *testing.T) {
	dir := files(t)
	a := args(t, dir)
	want(t, try(t, "read", childPolicy{Args: a}), false)
	want(t, try(t, "read", childPolicy{Policy: Policy{Read: []string{dir}}, Args: a}), true)
	want(t, try(t, "write", childPolicy{Policy: Policy{Read: []string{dir}}, Args: a}), false)
	want(t, try(t, "write", childPolicy{Policy: Policy{Rename: []string{dir}}, Args: a}), false)
	want(t, try(t, "write", childPolicy{Policy: Policy{Write: []string{dir}}, Args: a}), true)
	want(t, try(t, "rename", childPolicy{Policy: Policy{Rename: []string{dir}}, Args: a}), true)
	want(t, try(t, "rename", childPolicy{Policy: Policy{Read: []string{dir}}, Args: a}), false)
	want(t, try(t, "own", childPolicy{Args: a}), true)
	want(t, try(t, "secrets", childPolicy{Policy: Policy{Read: []string{dir}}, Args: a}), false)
}

// A policy with a single file does not allow access to other files of its folder.
func TestOneFile(t *testing.T) {
	dir := files(t)
	p := Policy{Read: []string{filepath.Join(dir, "secret"), filepath.Join(dir, "missing")}}
	got := try(t, "read", childPolicy{Policy: p, Args: args(t, dir)})
	for name, text := range got {
		if denied := text != "done"; denied == (name == "read a file") {
			t.Errorf("%s: %s", name, text)
		}
	}
	p = Policy{Write: []string{filepath.Join(dir, "missing")}}
	if _, err := fileRules(&p, 7); err == nil || !strings.Contains(err.Error(), "must exist") {
		t.Errorf("a file to write is missing: %v", err)
	}
}

// The private folder is the only place for temporary files. It leaves no files behind.
func TestTemp(t *testing.T) {
	dir, temp := files(t), t.TempDir()
	t.Setenv("TMPDIR", temp)
	want(t, try(t, "temp", childPolicy{Private: true, Args: args(t, dir)}), true)
	want(t, try(t, "write", childPolicy{Private: true, Args: args(t, dir)}), false)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestNetwork(t *testing.T) {
	a := args(t, files(t))
	want(t, try(t, "connect", childPolicy{Args: a}), false)
	want(t, try(t, "connect", childPolicy{Policy: Policy{Listen: []uint16{0}}, Args: a}), false)
	want(t, try(t, "connect", childPolicy{Policy: Policy{Connect: true}, Args: a}), true)
	want(t, try(t, "listen", childPolicy{Args: a}), false)
	want(t, try(t, "listen", childPolicy{Policy: Policy{Listen: []uint16{0}}, Args: a}), true)
	want(t, try(t, "listen", childPolicy{Policy: Policy{Listen: []uint16{1}}, Args: a}), false)
	out := Policy{Connect: true}
	want(t, try(t, "listen", childPolicy{Policy: out, Args: a}), false)
	want(t, try(t, "listen without a port", childPolicy{Policy: out, Named: true, Args: a}), false)
	want(t, try(t, "addresses of the machine", childPolicy{Policy: out, Args: a}), true)
	want(t, try(t, "listen at a bound socket", childPolicy{Policy: out, Args: a}), false)
	want(t, try(t, "listen at a bound socket", childPolicy{Args: a}), false)
	want(t, try(t, "listen at a bound socket", childPolicy{Named: true, Args: a}), true)
	want(t, try(t, "other sockets", childPolicy{Policy: Policy{Listen: []uint16{0}}, Args: a}), false)
	want(t, try(t, "other sockets", childPolicy{Args: a}), false)
}

func TestProcesses(t *testing.T) {
	a := args(t, files(t))
	want(t, try(t, "exec", childPolicy{Args: a}), false)
	want(t, try(t, "exec", childPolicy{Policy: Policy{Exec: true, Read: []string{"/"}}, Args: a}), true)
	want(t, try(t, "inherited", childPolicy{Policy: Policy{Exec: true, Read: []string{"/bin", "/usr/bin"}}, Args: a}), false)
	want(t, try(t, "others", childPolicy{Args: a}), false)
	want(t, try(t, "others", childPolicy{Policy: Policy{Exec: true}, Args: a}), false)
	want(t, try(t, "itself", childPolicy{Args: a}), true)
	want(t, try(t, "kernel", childPolicy{Args: a}), false)
	want(t, try(t, "kernel", childPolicy{Policy: Policy{Exec: true, Connect: true}, Args: a}), false)
}

func TestMode(t *testing.T) {
	for _, name := range []string{"auto", "require", "off"} {
		if m, err := ParseMode(name); err != nil || string(m) != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	if _, err := ParseMode("on"); err == nil || err.Error() != `on is not one of auto, require, off` {
		t.Errorf("on: %v", err)
	}
}

// The text is what --verbose and runtime doctor print.
func TestProtection(t *testing.T) {
	tests := []struct {
		p          Protection
		text       string
		sufficient bool
	}{
		{Protection{7, true, true, true, true, true, ""}, "Landlock ABI 7: files, truncation, TCP, signals; seccomp: system calls", true},
		{Protection{4, true, true, true, false, true, ""}, "Landlock ABI 4: files, truncation, TCP; seccomp: system calls", true},
		{Protection{1, true, false, false, true, true, ""}, "Landlock ABI 1: files, signals; seccomp: system calls; this kernel's Landlock restricts less", false},
		{Protection{0, false, false, false, false, true, ""}, "seccomp: system calls; no Landlock: the kernel is older than 5.13", false},
		{Protection{}, "none; no Landlock: the kernel is older than 5.13", false},
		{Protection{7, true, true, true, true, false, ""}, "Landlock ABI 7: files, truncation, TCP, signals; no seccomp filters", false},
	}
	for _, test := range tests {
		test.p.explain()
		if text := test.p.String(); !strings.HasPrefix(text, test.text) {
			t.Errorf("%+v\n got %s\nwant %s", test.p, text, test.text)
		}
		if err := test.p.required(); (err == nil) != test.sufficient {
			t.Errorf("%s: required: %v", test.text, err)
		}
	}
}
