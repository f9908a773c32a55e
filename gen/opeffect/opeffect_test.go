package opeffect

import (
	"os"
	"slices"
	"testing"

	"millrace/internal/test/tfmain"
	"millrace/savedmodel/effect"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// readsReference lists operations that take a reference and leave the variable as it is.
var readsReference = []string{"RefIdentity", "RefEnter", "RefExit", "RefNextIteration", "RefSwitch", "RefMerge", "RefSelect",
	"IsVariableInitialized", "DebugGradientRefIdentity", "DestroyTemporaryVariable"}

// The table says of every operation at least what its registration says.
func TestRegistrations(t *testing.T) {
	ops, err := tfbridge.OpList()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Derive(ops)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name, f := range all {
		row, ok := effect.Of(name)
		if !ok {
			continue // it is refused
		}
		compared++
		if f.State && !row.State || f.Calls && !row.Calls || f.Makes && !row.Makes {
			t.Errorf("%s\nregistered as %+v\nrow is %+v", name, f, row)
		}
		if !slices.Contains(readsReference, name) && !slices.Equal(f.Refs, row.Refs) || !slices.Equal(f.Strings, row.Strings) {
			t.Errorf("%s\nregistered with the references %v and the handles %v\nrow has %v and %v", name, f.Refs, f.Strings, row.Refs, row.Strings)
		}
		for _, attr := range f.Free {
			if !slices.Contains(slices.Concat(row.Passes, row.Plain, row.Parses), attr) {
				t.Errorf("%s: attribute %s alone decides what an output is, and the row does not say where that comes from", name, attr)
			}
		}
	}
	if compared < 1000 {
		t.Errorf("%d operations have a row", compared)
	}
}
