package tfbridge

import (
	"os"
	"path/filepath"
	"testing"

	"millrace/internal/base/runtimedir"
	"millrace/internal/test/testruntime"
)

// Fake libraries with the right names, in the current directory or on the loader's
// search path, are not loaded, neither as the runtime's own libraries nor as their
// dependencies.
func TestOpenSearchesNowhere(t *testing.T) {
	testruntime.Need(t)
	r, err := Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range runtimedir.Libraries {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("not a library"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	out, ok := child(t, "open", "LD_LIBRARY_PATH="+dir, RuntimeEnv+"="+r.Dir())
	if !ok || out != "false: <nil>\n" {
		t.Errorf("got %q", out)
	}
	out, ok = child(t, "open", "LD_LIBRARY_PATH="+r.Dir(), RuntimeEnv+"=", "HOME="+dir, "XDG_CACHE_HOME=")
	if !ok {
		t.Fatalf("child died:\n%s", out)
	}
	wantText(t, out, "true: "+filepath.Join(dir, ".cache/millrace/runtime/2.21.0-cpu")+": no TensorFlow")
}
