// Package committed checks, for the tests of the examples, that the data files in the
// repository are the ones that the example's make.py writes.
package committed

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Files returns the data files of the example in the current directory, sorted
// by name. It fails the test unless there are n.
func Files(t testing.TB, n int) []string {
	t.Helper()
	paths, err := filepath.Glob("data/*/*.tfrecords")
	if err != nil || len(paths) != n {
		t.Fatalf("data files: %v %v, want %d", paths, err, n)
	}
	return paths
}

// Checksum fails the test unless the concatenated files have the SHA-256 want.
func Checksum(t testing.TB, paths []string, want string) {
	t.Helper()
	sum := sha256.New()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(data)
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != want {
		t.Errorf("data files have SHA-256 %s, want %s", got, want)
	}
}
