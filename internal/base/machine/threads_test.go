package machine

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGroupThreads(t *testing.T) {
	for name, tt := range map[string]struct {
		self  string
		files map[string]string
		want  int64
	}{
		"none":   {"0::/\n", nil, Unlimited},
		"max":    {"0::/a\n", map[string]string{"a/pids.max": "max\n", "a/pids.current": "7\n"}, Unlimited},
		"own":    {"0::/a/b\n", map[string]string{"a/b/pids.max": "100\n", "a/b/pids.current": "60\n", "a/pids.max": "500\n", "a/pids.current": "61\n"}, 40},
		"parent": {"0::/a/b\n", map[string]string{"a/b/pids.max": "100\n", "a/b/pids.current": "60\n", "a/pids.max": "70\n", "a/pids.current": "61\n"}, 9},
		"over":   {"0::/a\n", map[string]string{"a/pids.max": "5\n", "a/pids.current": "7\n"}, 0},
		"first":  {"3:pids:/a\n", map[string]string{"pids/a/pids.max": "20\n", "pids/a/pids.current": "5\n"}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range tt.files {
				write(t, filepath.Join(root, file), text)
			}
			self := filepath.Join(t.TempDir(), "cgroup")
			write(t, self, tt.self)
			if got := groupThreads(self, root); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestUserThreads(t *testing.T) {
	proc := t.TempDir()
	for pid, threads := range map[int]int{1: 3, 25: 40} {
		write(t, filepath.Join(proc, strconv.Itoa(pid), "status"), "Name:\tx\nThreads:\t"+strconv.Itoa(threads)+"\n")
	}
	write(t, filepath.Join(proc, "meminfo", "status"), "Threads:\t1000\n")
	if got := userThreads(proc, os.Getuid()); got != 43 {
		t.Errorf("got %d threads, want 43", got)
	}
	if got := userThreads(proc, os.Getuid()+1); got != 0 {
		t.Errorf("another user has %d threads, want none", got)
	}
	if got := userThreads("/proc", os.Getuid()); got < 1 {
		t.Errorf("this user has %d threads", got)
	}
}
