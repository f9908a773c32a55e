package oplibrary

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDigestIsCurrent(t *testing.T) {
	got, err := Digest("../../cgo/datasets")
	if err != nil {
		t.Fatal(err)
	}
	if got != digest {
		t.Errorf("the sources in cgo/datasets changed: type make native (digest %s, was %s)", got, digest)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if got := Find(dir, "1.2.3"); got != "" {
		t.Errorf("found %s in an empty directory", got)
	}
	want := filepath.Join(dir, Folder, Name("1.2.3"))
	if err := os.Mkdir(filepath.Dir(want), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Find(dir, "1.2.3"); got != want {
		t.Errorf("Find: got %q, want %q", got, want)
	}
	if got := Find(dir, "1.2.4"); got != "" {
		t.Errorf("found %s for another version", got)
	}
}

func TestWriteDigest(t *testing.T) {
	dir := t.TempDir()
	for i, want := range []bool{true, false} {
		changed, err := WriteDigest(dir, "0123")
		if err != nil || changed != want {
			t.Errorf("call %d: changed %v, %v; want %v", i, changed, err, want)
		}
	}
}
