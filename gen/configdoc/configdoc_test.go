package configdoc

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/config-keys.md")

const page = "../../docs/config-keys.md"

// The page is what the declarations, the samples and the checker give now.
func TestPage(t *testing.T) {
	got, err := Page(Sources{
		Samples: "testdata/samples/*.txtar",
		Golden:  "../../loaders/testdata/check/*.txtar",
		Scratch: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale (-want +got); make generate writes it:\n%s", page, diff)
	}
}
