package native_test

import (
	"os"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	os.Exit(testruntime.Main(m, testruntime.Hooks{
		Open:  func() error { _, err := tfbridge.Open(nil); return err },
		Live:  tfbridge.Live,
		Kinds: tfbridge.LiveKinds,
	}))
}

// newScope returns a scope whose graph is closed with the test.
func newScope(t testing.TB) *graph.Scope {
	t.Helper()
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	return s
}

// out and outs shorten what functions of the graph return.
type (
	out  = tfbridge.Output
	outs = []tfbridge.Output
)

// tryAll returns the elements of a dataset up to its first error: the value
// of the component if there is but one, else a list of values.
func tryAll(t testing.TB, d *dataset.Dataset) ([]any, error) {
	t.Helper()
	elements := []any{}
	for element, err := range d.All(t.Context(), nil) {
		if err != nil {
			return elements, err
		}
		elements = append(elements, valueOf(element))
	}
	return elements, nil
}

func valueOf(element []*tfbridge.Tensor) any {
	if len(element) == 1 {
		return element[0].Value()
	}
	values := make([]any, len(element))
	for i, component := range element {
		values[i] = component.Value()
	}
	return values
}

// all is tryAll for what must not fail.
func all(t testing.TB, d *dataset.Dataset) []any {
	t.Helper()
	elements, err := tryAll(t, d)
	if err != nil {
		t.Fatal(err)
	}
	return elements
}
