package configdoc

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/config-keys.md and docs/run-keys.md")

// The pages are what the declarations, the samples and the checker give now.
func TestPage(t *testing.T) {
	linear, err := filepath.Abs("../../testdata/models/linear")
	if err != nil {
		t.Fatal(err)
	}
	model, err := filepath.Abs("../../testdata/models/classifier")
	if err != nil {
		t.Fatal(err)
	}
	for page, write := range map[string]func() (string, error){
		"../../docs/config-keys.md": func() (string, error) {
			return Page(Sources{Samples: "testdata/samples/*.txtar", Golden: "../../loaders/testdata/check/*.txtar", Scratch: t.TempDir(), Links: map[string]string{"linear": linear}})
		},
		"../../docs/run-keys.md": func() (string, error) {
			return RunPage(Sources{Samples: "testdata/runs/*.txtar", Scratch: t.TempDir(), Links: map[string]string{"model": model, "weights": model}})
		},
	} {
		got, err := write()
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
}
