package oplibrary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lib.so")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("code")
	wrong := func(what string) {
		if err := Verify(path); err == nil || !strings.Contains(err.Error(), Remedy) {
			t.Errorf("%s: got %v, want an error with the remedy", what, err)
		}
	}
	wrong("without a stamp")
	if err := Stamp(path, path); err != nil {
		t.Fatal(err)
	}
	if err := Verify(path); err != nil {
		t.Errorf("as it was built: %v", err)
	}
	write("cods")
	wrong("one byte changed")
	write("")
	wrong("empty")
}
