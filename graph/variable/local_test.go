package variable_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"millrace/graph"
	"millrace/graph/variable"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// Two variables of one session keep the values that they were initialized with.
func TestLocal(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	pair := tfbridge.MakeShape(2)
	a, b := variable.NewLocal(s, tfbridge.Float, pair), variable.NewLocal(s, tfbridge.Float, pair)
	read := []tfbridge.Output{a.Read(s), b.Read(s)}
	sum := graph.Add(s, a.InitializedValue(s), b.InitializedValue(s))
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	if _, err := sess.Run(nil, read, nil); !errors.Is(err, tfbridge.FailedPrecondition) {
		t.Errorf("read before the initializers: %v, want FailedPrecondition", err)
	}
	feeds := map[tfbridge.Output]*tfbridge.Tensor{a.Placeholder: floats(t, 1, 2), b.Placeholder: floats(t, 30, 40)}
	wantFloats(t, sess, feeds, sum, 31, 42)
	wantFloats(t, sess, nil, read[0], 1, 2)
	wantFloats(t, sess, nil, read[1], 30, 40)
}

// A shape that is not fully defined is refused.
func TestLocalShape(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	if variable.NewLocal(s, tfbridge.Float, tfbridge.MakeShape(-1, 2)); s.Err() == nil {
		t.Error("the shape [-1,2] is accepted")
	}
}

func floats(t *testing.T, values ...float32) *tfbridge.Tensor {
	t.Helper()
	tensor, err := tfbridge.NewTensor(values)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tensor.Close() })
	return tensor
}

// wantFloats runs a session for one output.
func wantFloats(t *testing.T, sess *tfbridge.Session, feeds map[tfbridge.Output]*tfbridge.Tensor, out tfbridge.Output, want ...float32) {
	t.Helper()
	values, err := sess.Run(feeds, []tfbridge.Output{out}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer values[0].Close()
	if got, err := tfbridge.View[float32](values[0]); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
