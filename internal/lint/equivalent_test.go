package lint

import (
	"testing"

	"millrace/internal/test/equivalent"
)

// The list of equivalent mutants matches the current code.
func TestEquivalentMutants(t *testing.T) {
	list, err := equivalent.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if ok, err := e.InCode(root); err != nil || !ok {
			t.Errorf("internal/test/equivalent/equivalent.txt:%d: %s %s has no line %q any more (%v): change the entry, or delete it", e.Line, e.Package, e.Function, e.Was, err)
		}
	}
}
