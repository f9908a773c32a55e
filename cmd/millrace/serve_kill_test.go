package main

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
)

// contents returns the files and folders below a folder, with the files' contents.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			all[path] = ""
			return nil // a server makes and removes files meanwhile
		}
		text, _ := os.ReadFile(path)
		all[path] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A server that is killed while it loads a new version has changed nothing in the model's
// folder. The next one takes its socket, serves the new version, and removes its
// temporary files.
func TestServeKilledInReload(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	base, temp, socket := filepath.Join(dir, "m"), filepath.Join(dir, "temp"), filepath.Join(dir, "s")
	version := func(n int) string { return filepath.Join(base, fmt.Sprint(n)) }
	if err := os.CopyFS(version(1), os.DirFS("../../testdata/models/linear")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	start := func() (*exec.Cmd, string) {
		server := exec.CommandContext(t.Context(), "millrace", "serve", "--port", "-1", "--rest_api_port", "-1", "--grpc_socket_path", socket, "--model", "m="+base)
		server.Env = append(os.Environ(), "TMPDIR="+temp)
		return server, "http://" + startListening(t, server)["http"]
	}
	for n := 2; n < 2+soak.Rounds(1, 40); n++ {
		server, url := start()
		loaded := fmt.Sprintf("%s/v1/models/m/versions/%d", url, n)
		before, idle := contents(t, base), contents(t, temp)
		incoming := filepath.Join(dir, "incoming")
		if err := os.CopyFS(incoming, os.DirFS("../../testdata/models/linear")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(incoming, version(n)); err != nil {
			t.Fatal(err)
		}
		maps.Copy(before, contents(t, version(n)))
		until(t, "the server loads the new version", func() bool {
			// On a busy machine the old version's files may be gone before this looks again.
			return len(contents(t, temp)) > len(idle)+n%3 || statusOf(loaded) == http.StatusOK
		})
		server.Process.Kill()
		server.Wait()
		if after := contents(t, base); !maps.Equal(before, after) {
			t.Fatalf("the killed server changed the model's folder: %d files and folders, before %d", len(after), len(before))
		}
		left, old := contents(t, temp), time.Now().Add(-time.Hour)
		for path := range left {
			os.Chtimes(path, old, old) // only old folders are removed
		}
		server, url = start()
		if got := statusOf(fmt.Sprintf("%s/v1/models/m/versions/%d", url, n)); got != http.StatusOK {
			t.Errorf("the next server answers for version %d with status %d", n, got)
		}
		for path := range left {
			if _, err := os.Lstat(path); err == nil && path != temp {
				t.Errorf("%s of the killed server is still there", path)
			}
		}
		server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Errorf("the next server ended with %v", err)
		}
	}
	if left := contents(t, temp); len(left) > 1 {
		t.Errorf("left at the end: %v", left)
	}
}
