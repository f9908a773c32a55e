// Package datasettest reads datasets in tests.
package datasettest

import (
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Read returns the elements of a dataset up to its first error: the value of a single
// component, or a list of values.
func Read(t testing.TB, d *dataset.Dataset) ([]any, error) {
	t.Helper()
	elements := []any{}
	for element, err := range d.All(t.Context(), nil) {
		if err != nil {
			return elements, err
		}
		elements = append(elements, ValueOf(element))
	}
	return elements, nil
}

// ValueOf returns the value of an element as [Read] does.
func ValueOf(element []*tfbridge.Tensor) any {
	if len(element) == 1 {
		return element[0].Value()
	}
	values := make([]any, len(element))
	for i, component := range element {
		values[i] = component.Value()
	}
	return values
}

// All is Read for a dataset that must not fail.
func All(t testing.TB, d *dataset.Dataset) []any {
	t.Helper()
	elements, err := Read(t, d)
	if err != nil {
		t.Fatal(err)
	}
	return elements
}

// Start returns a session of the iterator's graph in which the iterator has been
// initialized. The session is closed with the test.
func Start(t testing.TB, s *graph.Scope, it *dataset.Iterator) *tfbridge.Session {
	t.Helper()
	sess, err := tfbridge.NewSession(s.Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		t.Fatal(err)
	}
	return sess
}
