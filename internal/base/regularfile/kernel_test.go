package regularfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOfKernel(t *testing.T) {
	own := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(own, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{own: false, "/proc/self/status": true, "/sys/kernel/mm/transparent_hugepage/enabled": true} {
		f, err := os.Open(path)
		if err != nil {
			continue // no such file on this system
		}
		if got := ofKernel(f); got != want {
			t.Errorf("ofKernel(%s) is %v", path, got)
		}
		f.Close()
	}
}
