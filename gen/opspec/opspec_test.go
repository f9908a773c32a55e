package opspec

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

var update = flag.Bool("update", false, "write the table")

const path = "../../savedmodel/metagraph/opspec_gen.txt"

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// The table holds all of the runtime's operations and no others. Whether each is
// classified is tested in package savedmodel.
func TestTable(t *testing.T) {
	ops, err := tfbridge.OpList()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Table(ops)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not of this runtime (-want +got); -update writes it:\n%s", path, diff)
	}
}
