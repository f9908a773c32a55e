package opstamp

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A stamp that was compiled into a library is read back, with every character.
func TestRead(t *testing.T) {
	cxx, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("SKIPPED: no C++ compiler")
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "stamp.cc"), filepath.Join(dir, "stamp.so")
	want := Stamp{TensorFlow: "2.21.0-rc1", Sources: "a \"b\" \\ & = %"}
	if err := os.WriteFile(source, want.Source(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"-fvisibility=hidden"}} {
		args := append([]string{"-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", library}, flags...)
		if out, err := exec.Command(cxx, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got, ok, err := Read(library)
		if err != nil || !ok || got != want {
			t.Errorf("%v: got %+v, %v, %v; want %+v", flags, got, ok, err, want)
		}
	}
}

// A library of another tool has no stamp. A file that is not a library is an error.
func TestReadWithout(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := Read(program); ok || err != nil {
		t.Errorf("of a program: %+v, %v, %v", got, ok, err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := Read(text); ok || err == nil {
		t.Errorf("of a text: %v, %v; want an error", ok, err)
	}
}

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		built, runs string
		want        bool
	}{
		{"2.21.0", "2.21.3", true},
		{"2.21.0", "2.21.0-rc1", true},
		{"2.20.0", "2.21.0", false},
		{"2.2", "2.21.0", false},
		{"3.21.0", "2.21.0", false},
	} {
		if got := (Stamp{TensorFlow: tt.built}).Fits(tt.runs); got != tt.want {
			t.Errorf("built for %s, runs in %s: %v", tt.built, tt.runs, got)
		}
	}
}
