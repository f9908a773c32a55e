package graph_test

import (
	"os"
	"testing"

	"millrace/graph"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// tryRun fetches outputs in a session on the scope's graph.
func tryRun(t testing.TB, s *graph.Scope, outputs ...tfbridge.Output) ([]any, error) {
	t.Helper()
	if err := s.Err(); err != nil {
		return nil, err
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	tensors, err := sess.Run(nil, outputs, nil)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(tensors))
	for i, tensor := range tensors {
		values[i] = tensor.Value()
		tensor.Close()
	}
	return values, nil
}

// run is tryRun for what must not fail.
func run(t testing.TB, s *graph.Scope, outputs ...tfbridge.Output) []any {
	t.Helper()
	values, err := tryRun(t, s, outputs...)
	if err != nil {
		t.Fatal(err)
	}
	return values
}
