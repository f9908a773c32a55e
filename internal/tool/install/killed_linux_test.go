package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
	"millrace/internal/test/killstep"
	"millrace/internal/test/soak"
)

func TestMain(m *testing.M) {
	killstep.Child()
	if len(os.Args) > 2 && os.Args[1] == killedCommand {
		if err := killed[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// killedCommand has this test program do the work that a test kills.
const killedCommand = "killed"

// killed is that work, by its name. What it takes are paths.
var killed = map[string]func(paths []string) error{
	"install": func(paths []string) error {
		wheel, err := os.ReadFile(paths[0])
		if err != nil {
			return err
		}
		_, err = Install(context.Background(), &Options{From: paths[0], Dir: paths[1], pins: pinsFor(wheel), Force: true})
		return err
	},
	"operations": func(paths []string) error {
		_, err := BuildOperations(context.Background(), paths[0], &OperationsOptions{Compiler: paths[1:]})
		return err
	},
	"export": func(paths []string) error {
		return Export(context.Background(), paths[0], paths[1], &ExportOptions{Overwrite: true})
	},
}

// killing does a work again and again, killed before another of its changes of the file system each time, and looks
// after each kill. begin makes the state before it. In a brief run the changes are stride apart.
func killing(t *testing.T, stride int, begin, look func(), name string, paths ...string) {
	t.Helper()
	stride = soak.Rounds(stride, 1)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; ; step += stride {
		begin()
		var said strings.Builder
		cmd := exec.CommandContext(t.Context(), self, append([]string{killedCommand, name}, paths...)...)
		cmd.Stderr = &said
		ended := killstep.Run(t, cmd, step)
		if ended && !cmd.ProcessState.Success() {
			t.Fatalf("not killed, it failed: %s", &said)
		}
		look()
		if t.Failed() {
			t.Fatalf("killed before change %d of the file system (or, if %v, not at all)", step, ended)
		}
		if ended {
			return
		}
	}
}

// TestInstallKilledAnywhere: an install that is killed leaves a whole runtime, the one before or the new one, or none if there was none. The
// next install works and leaves nothing else.
func TestInstallKilledAnywhere(t *testing.T) {
	for _, replaces := range []bool{false, true} {
		t.Run(fmt.Sprintf("replaces=%v", replaces), func(t *testing.T) {
			t.Parallel()
			b := build(t, entries())
			wheel, dir := save(t, fakeName, b), filepath.Join(t.TempDir(), "runtimes")
			o := &Options{From: wheel, Dir: dir, pins: pinsFor(b)}
			begin := func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				if replaces {
					if _, err := Install(t.Context(), o); err != nil {
						t.Fatal(err)
					}
				}
			}
			look := func() {
				target := filepath.Join(dir, "2.21.0-cpu")
				have, err := runtimedir.Read(target)
				if err == nil {
					err = have.Verify(true)
				}
				if _, missing := os.Lstat(target); err != nil && (replaces || missing == nil) {
					t.Errorf("afterwards: %v", err)
				}
				if _, err := Install(t.Context(), o); err != nil {
					t.Errorf("the next install: %v", err)
				}
				entries, err := os.ReadDir(dir)
				if err != nil || len(entries) != 2 || entries[0].Name() != lockFile || entries[1].Name() != filepath.Base(target) {
					t.Errorf("the folder has %v, %v", entries, err)
				}
			}
			killing(t, 6, begin, look, "install", wheel, dir)
		})
	}
}

// A build of our operations that is killed leaves a sound library or none, and the next one works.
func TestOperationsKilled(t *testing.T) {
	t.Parallel()
	dir, cxx := withHeaders(t), compiler(t, compiles)
	folder := filepath.Join(dir, oplibrary.Folder)
	path := filepath.Join(folder, oplibrary.Name(runtimedir.Pinned().Version))
	begin := func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	killing(t, 150, begin, func() {
		if _, err := os.Lstat(path); err == nil {
			if err := oplibrary.Verify(path); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
		if _, err := BuildOperations(t.Context(), dir, &OperationsOptions{Compiler: cxx}); err != nil {
			t.Errorf("the next build: %v", err)
		}
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 3 { // the lock, the library and its checksum
			t.Errorf("the folder has %v, %v", entries, err)
		}
	}, "operations", append([]string{dir}, cxx...)...)
}

// An export that is killed leaves the archive of before, or the new one, or none.
func TestExportKilled(t *testing.T) {
	t.Parallel()
	dir, pins := complete(t)
	out := filepath.Join(t.TempDir(), "out")
	for name, old := range map[string]string{"runtime.tar": "", "new.tar": "an old archive", "folder": ""} {
		to := filepath.Join(out, name)
		begin := func() {
			if err := errors.Join(os.RemoveAll(out), os.Mkdir(out, 0o777)); err != nil {
				t.Fatal(err)
			}
			if old != "" {
				if err := os.WriteFile(to, []byte(old), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		killing(t, 5, begin, func() {
			text, err := os.ReadFile(to)
			if old != "" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, missing := os.Lstat(to); missing == nil && (old == "" || string(text) != old) {
				if _, err := Install(t.Context(), &Options{From: to, Dir: t.TempDir(), pins: pins}); err != nil {
					t.Errorf("what was exported: %v", err)
				}
			}
		}, "export", dir, to)
	}
}
