// Package special makes files that are not regular, for tests of programs that must
// not wait for them.
package special

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Kinds are functions that make a file of a kind at a path.
var Kinds = map[string]func(t testing.TB, path string){
	"fifo":   func(t testing.TB, path string) { check(t, syscall.Mkfifo(path, 0o666)) },
	"folder": func(t testing.TB, path string) { check(t, os.Mkdir(path, 0o777)) },
	"device": func(t testing.TB, path string) { check(t, os.Symlink("/dev/zero", path)) },
	"kernel": func(t testing.TB, path string) { check(t, os.Symlink("/proc/kmsg", path)) },
	"socket": socket,
}

// socket listens at a path. A socket's address is short, so it is made elsewhere and moved.
func socket(t testing.TB, path string) {
	dir, err := os.MkdirTemp("", "s")
	check(t, err)
	defer os.RemoveAll(dir)
	short := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	check(t, err)
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	check(t, os.Rename(short, path))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
