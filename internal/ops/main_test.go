package ops

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == restoreCommand {
		if err := restoreHere(os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	os.Exit(tfmain.RunMixed(m))
}

// built is where the tests keep the template's library. It is compiled when the
// template has changed, which takes a quarter of a minute.
const built = "../../build/ops/myreader.so"

// flags are what the template is compiled with: it must give no warnings.
var flags = []string{"-Werror"}

// myReader compiles the template once and returns the library's path.
var myReader = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "myreader")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	template := &template{NewOptions: NewOptions{Name: "MyReader"}, dir: dir}
	if err := template.prepare(); err != nil {
		return "", err
	}
	if err := template.write(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(built), 0o755); err != nil {
		return "", err
	}
	path, _, err := Build(context.Background(), dir, &BuildOptions{Path: built, Progress: os.Stderr, Flags: flags})
	return path, err
})

// load loads the template's library.
func load(t *testing.T) *tfbridge.Library {
	t.Helper()
	testruntime.Need(t)
	path, err := myReader()
	if err != nil {
		t.Fatal(err)
	}
	library, err := tfbridge.LoadLibrary(path)
	if err != nil {
		t.Fatal(err)
	}
	return library
}
