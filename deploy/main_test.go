package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"millrace/internal/test/tfmain"
)

// program is the built millrace.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds the program and runs the tests.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "deploy")
	if err == nil {
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "millrace")
		var out []byte
		if out, err = exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "millrace/cmd/millrace").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n", err)
		return 1
	}
	return tfmain.RunMixed(m)
}
