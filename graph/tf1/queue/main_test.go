package queue_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	tfmain.WithoutOneDNN()
	os.Exit(tfmain.Run(m))
}

// fetch runs outputs and returns their values.
func fetch(t testing.TB, session *tfbridge.Session, outputs ...tfbridge.Output) ([]any, error) {
	t.Helper()
	tensors, err := session.RunContext(t.Context(), nil, outputs, nil)
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

// mustFetch is fetch for runs that must not fail.
func mustFetch(t testing.TB, session *tfbridge.Session, outputs ...tfbridge.Output) []any {
	t.Helper()
	values, err := fetch(t, session, outputs...)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// do runs a target.
func do(t testing.TB, session *tfbridge.Session, op *tfbridge.Operation) error {
	t.Helper()
	_, err := session.RunContext(t.Context(), nil, nil, []*tfbridge.Operation{op})
	return err
}

// mustDo is do for runs that must not fail.
func mustDo(t testing.TB, session *tfbridge.Session, op *tfbridge.Operation) {
	t.Helper()
	if err := do(t, session, op); err != nil {
		t.Fatal(err)
	}
}

// stays reports whether a run that fetches an output is still waiting after
// everything else in the process had a chance to run, and cancels it.
func stays(t testing.TB, session *tfbridge.Session, output tfbridge.Output) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	out, err := session.RunContext(ctx, nil, []tfbridge.Output{output}, nil)
	if err == nil {
		out[0].Close()
	}
	return errors.Is(err, context.DeadlineExceeded)
}
