package install

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/base/runtimedir"
)

// wheelOptions returns options that install a good local wheel into a new
// directory.
func wheelOptions(t testing.TB) *Options {
	b := build(t, entries())
	return &Options{From: save(t, fakeName, b), Dir: t.TempDir(), pins: pinsFor(b)}
}

// check fails unless err has a class and contains all texts of want.
func check(t *testing.T, err error, class millrace.Class, want ...string) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Fatalf("error\n got %v\nwant class %q", err, class)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error\n got %v\nwant %s", err, w)
		}
	}
}

// clean fails if an install directory contains anything except the lock.
func clean(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != lockFile {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

func TestInstallWheel(t *testing.T) {
	o := wheelOptions(t)
	var said bytes.Buffer
	o.Progress = &said
	got, err := Install(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(o.Dir, "2.21.0-cpu")
	if got.Dir != target || got.Already || !got.Pinned || got.Variant != runtimedir.CPU {
		t.Errorf("got %+v", got.Installed)
	}
	if diff := cmp.Diff(unpacked, files(t, target)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := got.Verify(true); err != nil {
		t.Error(err)
	}
	want := "unpacking " + fakeName + "\n" + got.String() + " is installed in " + target + "\n"
	if said.String() != want {
		t.Errorf("said\n got %s\nwant %s", &said, want)
	}
}

func TestInstallAlready(t *testing.T) {
	o := wheelOptions(t)
	if _, err := Install(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	directory := *o
	directory.From = filepath.Join(o.Dir, "2.21.0-cpu")
	download := *o
	download.From, download.Pip = "", []string{"/must/not/be/called"}
	for name, o := range map[string]*Options{"wheel": o, "directory": &directory, "download": &download} {
		var said bytes.Buffer
		o.Progress = &said
		got, err := Install(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !got.Already || !strings.Contains(said.String(), "is already installed in "+got.Dir) {
			t.Errorf("%s: got %+v, said %s", name, got, &said)
		}
	}
}

// An existing directory that is damaged, or was not installed by us, is replaced as a
// whole.
func TestInstallReplaces(t *testing.T) {
	tests := map[string]func(t *testing.T, o *Options, target string){
		"a directory of unknown origin": func(t *testing.T, o *Options, target string) {
			os.Remove(filepath.Join(target, runtimedir.InfoFile))
			os.WriteFile(filepath.Join(target, "stray"), nil, 0o644)
		},
		"a cut library": func(t *testing.T, o *Options, target string) {
			os.Truncate(filepath.Join(target, runtimedir.LibraryCC), 10)
		},
		"a flipped bit": func(t *testing.T, o *Options, target string) {
			path := filepath.Join(target, runtimedir.LibraryCC)
			b, _ := os.ReadFile(path)
			b[100] ^= 1
			os.Remove(path)
			os.WriteFile(path, b, 0o644)
		},
		"a broken runtime.json": func(t *testing.T, o *Options, target string) {
			os.WriteFile(filepath.Join(target, runtimedir.InfoFile), []byte("{"), 0o644)
		},
		"a file": func(t *testing.T, o *Options, target string) {
			os.RemoveAll(target)
			os.WriteFile(target, nil, 0o644)
		},
		"anything, by force": func(t *testing.T, o *Options, target string) { o.Force = true },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			o := wheelOptions(t)
			first, err := Install(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			damage(t, o, first.Dir)
			got, err := Install(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Already {
				t.Error("not installed again")
			}
			if diff := cmp.Diff(unpacked, files(t, got.Dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"2.21.0-cpu"}, names(t, o.Dir)); diff != "" {
				t.Errorf("install directory (-want +got):\n%s", diff)
			}
		})
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != lockFile {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestInstallRefuses(t *testing.T) {
	good := build(t, entries())
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	html := []byte("<!DOCTYPE html><html><body>Please sign in</body></html>")
	tests := []struct {
		name  string
		file  []byte
		class millrace.Class
		want  string
	}{
		{"cut", good[:len(good)/2], millrace.ErrCorrupt, "the file is damaged, or is not the wheel that its name says"},
		{"flipped", flipped, millrace.ErrCorrupt, "SHA-256 " + sumOf(flipped) + ", want"},
		{"html", html, millrace.ErrCorrupt, `neither a wheel nor a tarball: it starts with "<!DOCTYPE html>`},
		{"empty", nil, millrace.ErrCorrupt, `it starts with ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &Options{From: save(t, fakeName, tt.file), Dir: t.TempDir(), pins: pinsFor(good)}
			_, err := Install(t.Context(), o)
			check(t, err, tt.class, o.From, tt.want)
			clean(t, o.Dir)
			if _, err := os.Stat(o.From); err != nil {
				t.Errorf("a local file is the user's: %v", err)
			}
		})
	}
}

func TestInstallOptions(t *testing.T) {
	o := wheelOptions(t)
	tests := []struct {
		name   string
		change func(o *Options)
		class  millrace.Class
		want   string
	}{
		{"variant", func(o *Options) { o.Variant = "tpu" }, millrace.ErrConfig, `no variant "tpu" of the runtime; want cpu or cuda`},
		{"other variant", func(o *Options) { o.Variant = "cuda" }, millrace.ErrConfig, "holds the cpu variant, but the cuda variant was asked for"},
		{"no wheel for machine", func(o *Options) { o.From, o.machine = "", "riscv64" }, millrace.ErrRuntime, "is not available as cpu for linux/riscv64; want linux on amd64"},
		{"no wheel for variant", func(o *Options) { o.From, o.Variant = "", "cuda" }, millrace.ErrRuntime, "is not available as cuda"},
		{"wheel of other machine", func(o *Options) { o.machine = "mips" }, millrace.ErrRuntime, ", but this machine is mips"},
		{"no such file", func(o *Options) { o.From = "/no/such.whl" }, millrace.ErrIO, "/no/such.whl: stat: no such file or directory"},
		{"not a directory", func(o *Options) { o.Dir = o.From }, millrace.ErrIO, "not a directory"},
		{"cannot be written", func(o *Options) { o.Dir = "/proc/millrace/runtime" }, millrace.ErrIO, "/proc/millrace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changed := *o
			tt.change(&changed)
			_, err := Install(t.Context(), &changed)
			check(t, err, tt.class, tt.want)
			clean(t, o.Dir)
		})
	}
}

func TestInstallReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing is read-only for root")
	}
	o := wheelOptions(t)
	if err := os.Chmod(o.Dir, 0o555); err != nil {
		t.Fatal(err)
	}
	_, err := Install(t.Context(), o)
	check(t, err, millrace.ErrIO, o.Dir, "permission denied")
}

func TestInstallConcurrent(t *testing.T) {
	o := wheelOptions(t)
	var fresh, waited int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var said bytes.Buffer
			mine := *o
			mine.Progress = &said
			got, err := Install(t.Context(), &mine)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			if !got.Already {
				fresh++
			}
			waited += strings.Count(said.String(), "waiting for another install")
		})
	}
	wg.Wait()
	if fresh != 1 {
		t.Errorf("installed %d times, want once (%d waited)", fresh, waited)
	}
}

func TestInstallWaitCanceled(t *testing.T) {
	o := wheelOptions(t)
	unlock, err := lock(t.Context(), o.Dir, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = writerFunc(func([]byte) { cancel() }) // "waiting for another install"
	_, err = Install(ctx, o)
	check(t, err, millrace.ErrCanceled)
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

func TestInstallCanceledUnpacking(t *testing.T) {
	o := wheelOptions(t)
	ctx, cancel := context.WithCancel(t.Context())
	o.at = func(stage string) {
		if stage == "have source" {
			cancel()
		}
	}
	_, err := Install(ctx, o)
	check(t, err, millrace.ErrCanceled)
	clean(t, o.Dir)
}
