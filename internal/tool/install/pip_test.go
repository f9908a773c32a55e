package install

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"millrace"
	"millrace/internal/base/runtimedir"
)

// fakePip puts a python3 on the PATH that runs script for "-m pip download",
// with $dest where the wheel belongs and $requirements the file with the hash.
func fakePip(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	body := `#!/bin/sh
test "$1 $2" = "-m pip" || exit 9
test "$3" = --version && exit 0
for a; do case $a in
	--dest=*) dest=${a#*=};;
	--requirement=*) requirements=${a#*=};;
esac; done
` + script
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// downloadOptions returns options that download a wheel which pip has as file.
func downloadOptions(t *testing.T, script string) (o *Options, file string) {
	b := build(t, entries())
	file = save(t, fakeName, b)
	fakePip(t, fmt.Sprintf(script, file))
	return &Options{Dir: t.TempDir(), pins: pinsFor(b)}, file
}

func TestDownload(t *testing.T) {
	o, file := downloadOptions(t, `wheel=%s; echo "$@" > $wheel.args; cat $requirements >> $wheel.args; echo $TMPDIR >> $wheel.args; cp $wheel $dest`)
	var said bytes.Buffer
	o.Progress = &said
	got, err := Install(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Pinned || got.Source != fakeName {
		t.Errorf("got %+v", got.Installed)
	}
	if want := "downloading tensorflow-cpu 2.21.0 (0 MB) with python3 -m pip\n"; !strings.HasPrefix(said.String(), want) {
		t.Errorf("said\n got %s\nwant %s", &said, want)
	}
	args, err := os.ReadFile(file + ".args")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-m pip download --no-deps --only-binary=:all: --implementation=cp --python-version=311 --abi=cp311 --platform=manylinux_2_27_x86_64",
		"--require-hashes",
		"\ntensorflow-cpu==2.21.0 --hash=sha256:" + o.pins.Wheels[0].SHA256 + "\n",
		"\n" + o.Dir, // pip's own temporary files are swept too
	} {
		if !strings.Contains(string(args), want) {
			t.Errorf("pip's arguments\n got %s\nwant %s", args, want)
		}
	}
	if diff := names(t, o.Dir); len(diff) != 1 {
		t.Errorf("left behind: %v", diff)
	}
}

func TestFetch(t *testing.T) {
	o, file := downloadOptions(t, `wheel=%s; echo called >> $wheel.calls; cp $wheel $dest`)
	for range 2 {
		path, err := Fetch(t.Context(), o.Dir, o)
		if want := filepath.Join(o.Dir, fakeName); err != nil || path != want {
			t.Errorf("got %s, %v, want %s", path, err, want)
		}
	}
	if calls, _ := os.ReadFile(file + ".calls"); string(calls) != "called\n" {
		t.Errorf("pip was called\n%s", calls)
	}
	if left := names(t, o.Dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// The file from pip is hashed again before it is opened.
func TestDownloadRefused(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"cut", `head -c 1000 %s > $dest/` + fakeName, "the file is damaged, or is not the wheel that its name says"},
		{"flipped", `sed s/eigen/egien/ %s > $dest/` + fakeName, "the file is damaged"},
		{"html", `echo '<html>' %s > $dest/` + fakeName, `neither a wheel nor a tarball: it starts with "<html>`},
		{"nothing", `: %s`, "pip did not download " + fakeName},
		{"other name", `cp %s $dest/other.whl`, "pip did not download " + fakeName},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, _ := downloadOptions(t, tt.script)
			_, err := Install(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n got %v\nwant %s", err, tt.want)
			}
			clean(t, o.Dir)
		})
	}
}

func TestDownloadPipFails(t *testing.T) {
	o, _ := downloadOptions(t, `: %s; echo "WARNING: retrying" >&2; printf 'ERROR: no \033[31mmatching\033[0m distribution\n' >&2; exit 3`)
	_, err := Install(t.Context(), o)
	check(t, err, millrace.ErrRuntime, "python3 -m pip could not download tensorflow-cpu 2.21.0: exit status 3\n\tWARNING: retrying\n\tERROR: no [31mmatching[0m distribution")
	clean(t, o.Dir)
}

func TestDownloadNoPip(t *testing.T) {
	b := build(t, entries())
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	o := &Options{Dir: t.TempDir(), pins: pinsFor(b)}
	_, err := Install(t.Context(), o)
	check(t, err, millrace.ErrRuntime, "pip is missing", "install Python 3 with pip", "--from")
	clean(t, o.Dir)

	// A python3 without the module pip is skipped, and a pip3 next to it is used.
	os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\nexit 1\n"), 0o755)
	os.WriteFile(filepath.Join(dir, "pip3"), []byte("#!/bin/sh\nexit 0\n"), 0o755)
	if pip, err := findPip(t.Context()); err != nil || pip[0] != "pip3" {
		t.Errorf("got %v, %v, want pip3", pip, err)
	}
}

// Cancelling ends pip and its children.
func TestDownloadCanceled(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	o, _ := downloadOptions(t, `: %s; echo started > `+fifo+`; exec sleep 600`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		os.ReadFile(fifo) // until pip is under way
		cancel()
	}()
	_, err := Install(ctx, o)
	check(t, err, millrace.ErrCanceled)
	clean(t, o.Dir)
}

// childEnv names the stage at which the test binary, started again, stops
// installing and waits to be killed.
const childEnv = "MILLRACE_INSTALL_CHILD"

func TestKillChild(t *testing.T) {
	stage := os.Getenv(childEnv)
	if stage == "" {
		t.Skip("for the child process")
	}
	b := build(t, entries())
	Install(t.Context(), &Options{From: os.Getenv("FROM"), Dir: os.Getenv("DIR"), pins: pinsFor(b), at: func(s string) {
		if s == stage {
			fmt.Println("stopped at " + s)
			io.Copy(io.Discard, os.Stdin) // until killed
		}
	}})
}

// A killed install leaves either no runtime or a complete one, and the next install
// cleans up.
func TestInstallKilled(t *testing.T) {
	for _, stage := range []string{"have source", "unpacked", "published"} {
		t.Run(stage, func(t *testing.T) {
			o := wheelOptions(t)
			killAt(t, stage, o)
			_, err := runtimedir.Read(filepath.Join(o.Dir, "2.21.0-cpu"))
			if whole := err == nil; whole != (stage == "published") {
				t.Errorf("after the kill: %v", err)
			}
			if left := names(t, o.Dir); len(left) == 0 || !strings.HasPrefix(left[0], workPrefix) {
				t.Errorf("the kill came too late: %v", left)
			}
			o.Force = true // "published" is sound already
			if _, err := Install(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if left := names(t, o.Dir); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// killAt runs an install in a child process and kills it at a stage.
func killAt(t *testing.T, stage string, o *Options) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+stage, "FROM="+o.From, "DIR="+o.Dir)
	stdin, _ := cmd.StdinPipe()
	defer stdin.Close()
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "stopped at "+stage+"\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
}
