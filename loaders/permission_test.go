package loaders_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
)

// nobody is a user who may read only files that everyone may read.
const nobody = 65534

// A file without permission is an error with the file and the reason, whether it is
// found while the config is checked or when the data is opened (A01, C03). Root may
// read everything, so the test runs as another user in a separate process.
func TestPermission(t *testing.T) {
	testruntime.Need(t)
	if config := os.Getenv("MILLRACE_TEST_CONFIG"); config != "" {
		openAsNobody(t, config)
		return
	}
	for _, name := range []string{"loader.json", "data/__manifest__.json", "data/b.tfrecords", "data/sub", "data"} {
		t.Run(name, func(t *testing.T) {
			d := fixture.New(t)
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 2)...)
			d.WriteRecords(t, "b.tfrecords", fixture.Records(2, 4)...)
			if err := os.Mkdir(d.Path("sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			d.Save(t)
			if err := os.Chmod(filepath.Dir(d.Dir), 0o755); err != nil { // TempDir's own folder
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(d.Dir, name), 0); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPermission$")
			cmd.Env = append(os.Environ(), "MILLRACE_TEST_CONFIG="+d.Config())
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), filepath.Join(d.Dir, name)) || !strings.Contains(string(out), "permission denied") {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}

// openAsNobody prints the error of opening a config, and fails if the error does not
// come from the operating system.
func openAsNobody(t *testing.T, config string) {
	if os.Geteuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := loaders.Open(config, nil)
	if err == nil {
		l.Close()
	}
	if !errors.Is(err, millrace.ErrIO) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	os.Stdout.WriteString(err.Error() + "\n")
}
