package runtimedir

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"millrace"
)

// fill fills a directory as package install does.
func fill(t *testing.T) *Installed {
	t.Helper()
	in := &Installed{Dir: t.TempDir(), Version: Pinned().Version, Variant: CPU, Arch: runtime.GOARCH}
	for _, name := range Libraries {
		path := filepath.Join(in.Dir, name)
		if err := os.WriteFile(path, []byte("contents of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Stamp(path)
		if err != nil {
			t.Fatal(err)
		}
		if l.SHA256, err = HashFile(path); err != nil {
			t.Fatal(err)
		}
		in.Libraries = append(in.Libraries, l)
	}
	if err := in.Write(); err != nil {
		t.Fatal(err)
	}
	return in
}

// renew gives a library new contents in a new file, so that the inode or the
// time is another.
func renew(t *testing.T, path, contents string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(contents), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestPins(t *testing.T) {
	p := Pinned()
	for _, w := range p.Wheels {
		if b, err := hex.DecodeString(w.SHA256); err != nil || len(b) != 32 {
			t.Errorf("%s: SHA-256 %q", w.File, w.SHA256)
		}
		if !strings.Contains(w.File, p.Version) || !strings.Contains(w.File, "cp"+p.Python) || w.Size == 0 {
			t.Errorf("%s is not a wheel of %s for Python %s", w.File, p.Version, p.Python)
		}
		sums := map[string]string{}
		for _, name := range Libraries {
			pin := w.Libraries[name]
			if b, err := hex.DecodeString(pin.SHA256); err != nil || len(b) != 32 || pin.Size == 0 {
				t.Errorf("%s: %s: %+v", w.File, name, pin)
			}
			sums[name] = pin.SHA256
		}
		for how, got := range map[string]*Wheel{
			"Wheel": p.Wheel(w.Variant, w.GOARCH), "BySHA256": p.BySHA256(w.SHA256),
			"ByFile": p.ByFile(w.File), "ByLibraries": p.ByLibraries(sums),
		} {
			if got == nil || got.SHA256 != w.SHA256 {
				t.Errorf("%s(%s) = %+v", how, w.File, got)
			}
		}
	}
	if p.Wheel("tpu", "amd64") != nil || p.BySHA256("") != nil || p.ByFile("") != nil || p.ByLibraries(nil) != nil {
		t.Error("found what is not pinned")
	}
}

func TestReadAndFind(t *testing.T) {
	root := t.TempDir()
	if found, err := Find(root); err != nil || len(found) != 0 {
		t.Errorf("Find of nothing: %v, %v", found, err)
	}
	if _, err := Read(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of nothing: %v", err)
	}
	in := fill(t)
	if err := os.Rename(in.Dir, filepath.Join(root, Name(CPU))); err != nil {
		t.Fatal(err)
	}
	found, err := Find(root)
	if err != nil || len(found) != 1 {
		t.Fatalf("Find: %v, %v", found, err)
	}
	if want := "TensorFlow 2.21.0 (cpu, " + runtime.GOARCH + ")"; found[0].String() != want {
		t.Errorf("got %s, want %s", found[0], want)
	}
	if err := found[0].Verify(false); err != nil {
		t.Error(err)
	}
}

func TestReadBroken(t *testing.T) {
	tests := []struct{ json, want string }{
		{"", "not a description of a runtime: unexpected end of JSON input; type millrace runtime install"},
		{"[]", "not a description of a runtime"},
		{"{}", "describes 0 libraries, want 2; type millrace runtime install"},
		{`{"libraries":[{"name":"../../evil"},{"name":"b"}]}`, `library 0 is "../../evil", want libtensorflow_framework.so.2`},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, InfoFile), []byte(tt.json), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Read(dir)
		if !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Read(%q)\n got %v\nwant %s", tt.json, err, tt.want)
		}
	}
}

func TestVerify(t *testing.T) {
	cc := func(in *Installed) string { return filepath.Join(in.Dir, LibraryCC) }
	right := "contents of " + LibraryCC
	tests := []struct {
		name   string
		change func(t *testing.T, in *Installed)
		full   bool
		want   string // "": no error
	}{
		{"as installed", func(t *testing.T, in *Installed) {}, false, ""},
		{"as installed, full", func(t *testing.T, in *Installed) {}, true, ""},
		{"copied", func(t *testing.T, in *Installed) { renew(t, cc(in), right) }, false, ""},
		{"missing", func(t *testing.T, in *Installed) { os.Remove(cc(in)) }, false, "no such file or directory; type millrace runtime install"},
		{"cut", func(t *testing.T, in *Installed) { os.Truncate(cc(in), 3) }, false, "has 3 bytes, but 33 were installed"},
		{"other", func(t *testing.T, in *Installed) { renew(t, cc(in), strings.ToUpper(right)) }, false, "has SHA-256 "},
		{"other version", func(t *testing.T, in *Installed) { in.Version = "2.20.0" }, false, "TensorFlow 2.20.0 is installed, want 2.21.0"},
		{"other machine", func(t *testing.T, in *Installed) { in.Arch = "mips" }, false, "the libraries are for mips, but this machine is "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := fill(t)
			tt.change(t, in)
			err := in.Verify(tt.full)
			if tt.want == "" && err != nil {
				t.Fatal(err)
			}
			if tt.want != "" && (!errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), Remedy)) {
				t.Errorf("error\n got %v\nwant %s", err, tt.want)
			}
		})
	}
}

// Only a full check finds a changed byte if the stamp is unchanged.
func TestVerifyFull(t *testing.T) {
	in := fill(t)
	path := filepath.Join(in.Dir, LibraryCC)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte("X"), 0)
	f.Close()
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := in.Verify(false); err != nil {
		t.Errorf("quick: %v", err)
	}
	if err := in.Verify(true); !errors.Is(err, millrace.ErrRuntime) {
		t.Errorf("full: %v", err)
	}
}

// A runtime in an image has no stamps: only its sizes are checked, unless full is set,
// and no stamps are recorded.
func TestVerifyUnstamped(t *testing.T) {
	in := fill(t)
	for i := range in.Libraries {
		in.Libraries[i].ModTime, in.Libraries[i].Inode = 0, 0
	}
	if err := in.Write(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(in.Dir, LibraryCC)
	renew(t, path, strings.ToUpper("contents of "+LibraryCC))
	if err := in.Verify(false); err != nil {
		t.Errorf("quick: %v", err)
	}
	if err := in.Verify(true); !errors.Is(err, millrace.ErrRuntime) {
		t.Errorf("full: %v", err)
	}
	if err := os.Truncate(path, 3); err != nil {
		t.Fatal(err)
	}
	if err := in.Verify(false); !errors.Is(err, millrace.ErrRuntime) {
		t.Errorf("cut: %v", err)
	}
	again, err := Read(in.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range again.Libraries {
		if l.stamped() {
			t.Errorf("%s got a stamp: %+v", l.Name, l)
		}
	}
}

// Hashing a copied library happens once: its new stamp is recorded.
func TestVerifyNotes(t *testing.T) {
	in := fill(t)
	path := filepath.Join(in.Dir, LibraryCC)
	renew(t, path, "contents of "+LibraryCC)
	if err := in.Verify(false); err != nil {
		t.Fatal(err)
	}
	again, err := Read(in.Dir)
	if err != nil {
		t.Fatal(err)
	}
	now, err := Stamp(path)
	if err != nil {
		t.Fatal(err)
	}
	if l := again.Libraries[1]; l.Inode != now.Inode || l.ModTime != now.ModTime {
		t.Errorf("noted %+v, want %+v", l, now)
	}
}

func TestCheckFeatures(t *testing.T) {
	if err := checkFeatures([]feature{{"SSE4.2", true}, {"AVX", true}}); err != nil {
		t.Error(err)
	}
	err := checkFeatures([]feature{{"SSE4.2", false}, {"POPCNT", true}, {"AVX", false}})
	if !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), "this processor lacks SSE4.2, AVX, which TensorFlow 2.21.0 is compiled for") {
		t.Errorf("got %v", err)
	}
}

func TestCheckELF(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte(strings.Repeat("INPUT(-lother) ", 9)), 0o644); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.so")
	h := make([]byte, 64)
	copy(h, "\x7fELF\x02\x01\x01")
	h[16], h[18], h[20], h[52] = byte(elf.ET_DYN), byte(elf.EM_MIPS), 1, 64
	if err := os.WriteFile(other, h, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.so"): "no such file or directory",
		text:                          "not a shared library: bad magic number",
		other:                         "for another machine: EM_MIPS",
	} {
		err := CheckELF(path)
		if !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckELF(%s)\n got %v\nwant %s", path, err, want)
		}
	}
}
