package tfbridge

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
)

// childEnv selects what the test binary does when a test starts it again.
const childEnv = "MILLRACE_TFBRIDGE_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		children[name]()
		os.Exit(0)
	}
	os.Exit(testruntime.Main(m, testruntime.Hooks{
		Open:  func() error { _, err := Open(nil); return err },
		Live:  Live,
		Kinds: LiveKinds,
		Mixed: true,
	}))
}

// child runs one of children in a separate process. It returns the output of both
// streams, and whether the process succeeded.
func child(t *testing.T, name string, env ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	// Under the address sanitizer this process checks for leaks; a child would only
	// print them.
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1", childEnv+"="+name)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// wantText fails the test unless got holds every part.
func wantText(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("text\n got %s\nwant it to hold %q", got, part)
		}
	}
}

// build is a graph under construction in a test.
type build struct {
	t testing.TB
	g *Graph
}

// newBuild returns an empty graph, closed with the test.
func newBuild(t testing.TB) *build {
	testruntime.Need(t)
	b := &build{t: t, g: NewGraph()}
	t.Cleanup(func() { b.g.Close() })
	return b
}

// op adds an operation.
func (b *build) op(spec OpSpec) *Operation {
	b.t.Helper()
	op, err := b.g.AddOperation(spec)
	if err != nil {
		b.t.Fatal(err)
	}
	return op
}

// out adds an operation and returns its first output.
func (b *build) out(typ, name string, attrs map[string]any, in ...Input) Output {
	b.t.Helper()
	return b.op(OpSpec{Type: typ, Name: name, Attrs: attrs, Input: in}).Output(0)
}

// placeholder adds an input.
func (b *build) placeholder(name string, dt DataType, s Shape) Output {
	b.t.Helper()
	return b.out("Placeholder", name, map[string]any{"dtype": dt, "shape": s})
}

// constant adds a constant.
func (b *build) constant(name string, value any) Output {
	b.t.Helper()
	t := b.tensor(value)
	return b.out("Const", name, map[string]any{"dtype": t.DataType(), "value": t})
}

// tensor makes a tensor, closed with the test.
func (b *build) tensor(value any) *Tensor {
	b.t.Helper()
	return newTestTensor(b.t, value)
}

// session returns a session on the graph, closed with the test.
func (b *build) session() *Session {
	b.t.Helper()
	s, err := NewSession(b.g, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.Close() })
	return s
}

// newTestTensor makes a tensor, closed with the test.
func newTestTensor(t testing.TB, value any) *Tensor {
	t.Helper()
	x, err := NewTensor(value)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// run1 runs a session for one output and returns its value.
func run1(t testing.TB, s *Session, feeds map[Output]*Tensor, o Output) any {
	t.Helper()
	out, err := s.Run(feeds, []Output{o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out[0].Close()
	return out[0].Value()
}
