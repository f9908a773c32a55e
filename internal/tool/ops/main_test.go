package ops

import (
	"context"
	"log"
	"os"
	"sync"
	"testing"

	"millrace/internal/test/killstep"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	killstep.Child()
	commands := map[string]func([]string) error{restoreCommand: restoreHere, lateCommand: loadLate, killedCommand: buildHere}
	if len(os.Args) == 5 && commands[os.Args[1]] != nil {
		if err := commands[os.Args[1]](os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	os.Exit(tfmain.RunMixed(m))
}

// built is the test's library of template dataset, and libraries the folder of all
// libraries. They are compiled when a template has changed, which takes 15 seconds.
const (
	libraries = "../../../build/ops" + variant
	built     = libraries + "/myreader.so"
)

// flags are the compiler flags for the templates, which must compile without warnings.
var flags = append([]string{"-Werror"}, sanitize...)

// myReader compiles template dataset once and returns the library's path, and
// myRecord template record.
var (
	myReader = sync.OnceValues(func() (string, error) { return compiled(DatasetKind, built) })
	myRecord = sync.OnceValues(func() (string, error) { return compiled(RecordKind, libraries+"/myrecord.so") })
)

// compiled compiles a template of C++.
func compiled(kind Kind, library string) (string, error) {
	dir, err := os.MkdirTemp("", "myreader")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	template := &template{NewOptions: NewOptions{Name: "MyReader", Kind: kind}, dir: dir}
	if err := template.prepare(); err != nil {
		return "", err
	}
	if err := template.write(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(libraries, 0o755); err != nil {
		return "", err
	}
	path, _, err := Build(context.Background(), dir, &BuildOptions{Path: library, Progress: os.Stderr, Flags: flags})
	return path, err
}

// load loads the library of template dataset.
func load(t *testing.T) *tfbridge.Library { return loadOf(t, myReader) }

// loadOf loads the library of a template.
func loadOf(t *testing.T, compiled func() (string, error)) *tfbridge.Library {
	t.Helper()
	testruntime.Need(t)
	path, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	library, err := tfbridge.LoadLibrary(path)
	if err != nil {
		t.Fatal(err)
	}
	return library
}
