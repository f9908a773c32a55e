package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// The limits of control groups apply to all groups in them, in either version.
func TestContainerMemory(t *testing.T) {
	const none = Unlimited
	for name, tt := range map[string]struct {
		self  string
		files map[string]string
		want  int64
	}{
		"none":     {"0::/\n", nil, none},
		"max":      {"0::/app\n", map[string]string{"app/memory.max": "max\n"}, none},
		"own":      {"0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n", "a/memory.max": "2000\n"}, 1000},
		"parent":   {"0::/a/b\n", map[string]string{"a/b/memory.max": "max\n", "a/memory.max": "2000\n"}, 2000},
		"root":     {"0::/\n", map[string]string{"memory.max": "3000\n"}, 3000},
		"first":    {"5:cpu:/x\n4:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "4000\n", "x/memory.max": "1\n"}, 4000},
		"nonsense": {"memory\n\n", map[string]string{"memory.max": "x\n"}, none},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range tt.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			self := filepath.Join(t.TempDir(), "cgroup")
			if err := os.WriteFile(self, []byte(tt.self), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := containerMemory(self, root); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAvailableMemory(t *testing.T) {
	if got := AvailableMemory(); got.Bytes <= 0 || got.Bytes == Unlimited || got.Bound == "" {
		t.Errorf("this process can have %d bytes because %q", got.Bytes, got.Bound)
	}
	if got := PeakMemory(); got < 1<<20 {
		t.Errorf("this process held %d bytes", got)
	}
}
