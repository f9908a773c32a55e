package op_test

import (
	"os"
	"testing"

	"millrace/graph/op"
	"millrace/internal/test/tfmain"
	tf "millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// newScope returns a scope whose graph is closed with the test.
func newScope(t testing.TB) *op.Scope {
	t.Helper()
	s := op.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	return s
}

// session returns a session on a scope's graph that is closed with the test.
func session(t testing.TB, s *op.Scope) *tf.Session {
	t.Helper()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tf.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	return sess
}

// values fetches outputs as Go values.
func values(t testing.TB, sess *tf.Session, outputs ...tf.Output) []any {
	t.Helper()
	tensors, err := sess.Run(nil, outputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, x := range tensors {
		got = append(got, x.Value())
		x.Close()
	}
	return got
}

// do runs operations.
func do(t testing.TB, sess *tf.Session, ops ...*tf.Operation) {
	t.Helper()
	if _, err := sess.Run(nil, nil, ops); err != nil {
		t.Fatal(err)
	}
}
