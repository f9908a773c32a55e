package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// refusals are ways in which a file system refuses to write. Each is a shell command in
// the folder of a case, whose folder out is a separate file system.
var refusals = map[string]struct{ script, errors string }{
	"full":      {`dd if=/dev/zero of=out/filler bs=64k 2>/dev/null; dd if=/dev/zero of=out/rest bs=512 2>/dev/null; :`, `no space left|needs [0-9]+ bytes`},
	"read-only": {`mount -o remount,ro out`, `read-only file system|(?i)permission denied`},
	"limit":     {`ulimit -f 0`, `file too large`},
}

// writingCommands are the commands that write, with all files that they write below
// out. Files that match left may stay after a failure.
var writingCommands = []struct {
	command, left string
}{
	{command: "predict predict.json --model model --keep label --out out/p.ndjson"},
	{command: "predict predict.json --model model --keep label --out out/p.npz"},
	{command: "predict predict.json --model model --keep label --out out/p.parquet"},
	{command: "predict predict.json --model model --keep label --part-batches 1 --out out/parts.ndjson", left: `^out/parts\.ndjson$`},
	{command: "train run.json --dir out/run --steps 2", left: `^out/run(/run\.json|/input\.json|/\.lock|/checkpoints|/checkpoints/\.lock|/checkpoints/\.writing|/events|/log\.ndjson|/events/events\.out.*)?$`},
	{command: "report run --out out/page.html"},
	{command: "quarantine extract first.ndjson out/bad.tfrecords"},
	{command: "convert in/a.csv --out out/new", left: `^out/\.new\.millrace-part$`},
	{command: "index out/heldback", left: `^out/cache(/millrace(/index)?)?$`},
	{command: "inspect data/heldback --write-manifest out/m.json"},
	{command: "plan predict.json --graph --svg out/p.svg"},
	{command: "ops new out/myop", left: `^out/myop(/.*)?$`},
	{command: "export trained --out out/exported"},
	{command: "runtime install --from tools/fake --unpinned --dir out/rt --native=false --prelink=false", left: `^out/rt(/\.lock)?$`},
	{command: "runtime export --runtime tools/installed/2.21.0-cpu out/rt.tar"},
	{command: "runtime export --runtime tools/installed/2.21.0-cpu out/folder"},
	{command: "ops wrap --runtime tools/bare tools/lib.so --package lib --out out/lib.go"},
	{command: "ops build tools/myop --out out/myop.so"},
}

// Each command that writes reports an error about a file, and leaves nothing
// half-written, if the disk is full, the file system is read-only, or a limit on the
// size of files is reached.
func TestFullDisk(t *testing.T) {
	testruntime.Need(t)
	trained := filepath.Join(t.TempDir(), "trained")
	from := lab(t)
	if said, err := inLab(from, "millrace", "train", "run.json", "--dir", trained, "--steps", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	tools := layTools(t)
	for _, tt := range writingCommands {
		for kind, refusal := range refusals {
			t.Run(kind+"/"+strings.Fields(tt.command)[0], func(t *testing.T) {
				t.Parallel()
				dir := lab(t)
				if err := os.CopyFS(filepath.Join(dir, "trained"), os.DirFS(trained)); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(tools, filepath.Join(dir, "tools")); err != nil {
					t.Fatal(err)
				}
				listFirst(t, dir)
				before, after, said, code := onSmallDisk(t, dir, refusal.script, tt.command)
				if code < 1 || code > 7 {
					t.Fatalf("millrace %s: code %d\n%s", tt.command, code, said)
				}
				message := lastError(said)
				if !strings.Contains(message, "out/") && !strings.Contains(message, "TMPDIR") || !regexp.MustCompile(refusal.errors).MatchString(message) {
					t.Errorf("millrace %s: the error names no file, or not why: %s", tt.command, said)
				}
				for name := range strings.Lines(after) {
					name = strings.TrimSpace(name)
					known := strings.Contains("\n"+before, "\n"+name+"\n")
					if !known && (tt.left == "" || !regexp.MustCompile(tt.left).MatchString(name)) {
						t.Errorf("millrace %s left %s: %s", tt.command, name, said)
					}
				}
			})
		}
	}
}

// layTools makes a folder with a library of operations, lib.so, a runtime that has it in the place of TensorFlow's
// libraries, fake, the same installed, TensorFlow's runtime without lib.so, bare, a folder of operations, myop,
// and a compiler, cxx.
func layTools(t *testing.T) string {
	t.Helper()
	runtime, err := tfbridge.FindRuntime(nil)
	if err != nil {
		t.Fatal(err)
	}
	library := oplibrary.Find(runtime, runtimedir.Pinned().Version)
	if library == "" {
		t.Skip("SKIPPED: the runtime has no library of operations: make native builds it")
	}
	text, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"lib.so": string(text), "fake/" + runtimedir.LibraryCC: string(text), "fake/" + runtimedir.LibraryFramework: string(text), "myop/a.cc": "",
		"cxx": "#!/bin/sh\nfor word; do [ \"$before\" != -o ] || out=$word; before=$word; done\nhead -c 100000 /dev/zero >\"$out\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range runtimedir.Libraries {
		if err := errors.Join(os.MkdirAll(dir+"/bare", 0o777), os.Symlink(filepath.Join(runtime, name), filepath.Join(dir, "bare", name))); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "millrace", "runtime", "install", "--from", dir+"/fake", "--unpinned", "--dir", dir+"/installed", "--native=false", "--prelink=false")
	if said, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return dir
}

// listFirst writes a ledger, first.ndjson, that lists the first record of the data.
func listFirst(t *testing.T, dir string) {
	t.Helper()
	const file = "data/heldback/heldback-00000-of-00002.tfrecords"
	header := read(t, dir, file)[:8]
	line := fmt.Sprintf(`{"file":%q,"ordinal":0,"offset":0,"length":%d}`+"\n", file, binary.LittleEndian.Uint64([]byte(header)))
	if err := os.WriteFile(filepath.Join(dir, "first.ndjson"), []byte(line), 0o666); err != nil {
		t.Fatal(err)
	}
}

// lastError returns the lines that say what failed.
func lastError(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "note:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// inLab is a command in the folder of a case. Its caches are on the case's small disk.
func inLab(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "out/cache"), "MILLRACE_RUNTIME="+os.Getenv("MILLRACE_RUNTIME"), "CXX="+filepath.Join(dir, "tools/cxx"))
	if root, err := runtimedir.Root(); err == nil && os.Getenv("MILLRACE_RUNTIME") == "" {
		if found, err := runtimedir.Find(root); err == nil && len(found) > 0 {
			cmd.Env = append(cmd.Env, "MILLRACE_RUNTIME="+found[0].Dir)
		}
	}
	return cmd
}

// onSmallDisk runs a command in a folder whose folder out is a small file system, in a
// separate mount namespace. It returns the names in out before and after, the command's
// output, and its exit code.
func onSmallDisk(t *testing.T, dir, refusal, command string) (before, after, said string, code int) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	limit := "" // the limit is the command's alone; otherwise it would hold for the lists as well
	if strings.HasPrefix(refusal, "ulimit") {
		limit, refusal = refusal+";", ":"
	}
	script := fmt.Sprintf(`set -o pipefail
mount -t tmpfs -o size=4m none out && cp -r data/heldback out/heldback && rm -f out/heldback/*.millrace-index || exit 99
%s
find out | sort >names.before
(%s exec "$@") 2>&1 | cat >said
rc=$?
find out | sort >names.after
exit $rc`, refusal, limit)
	cmd := inLab(dir, append([]string{"bash", "-c", script, "bash", "millrace"}, strings.Fields(command)...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
	}
	output, err := cmd.CombinedOutput()
	code = cmd.ProcessState.ExitCode()
	if code == 99 || cmd.ProcessState == nil || bytes.Contains(output, []byte("mount:")) {
		t.Skipf("SKIPPED: no file system can be mounted here: %v: %s", err, output)
	}
	return read(t, dir, "names.before"), read(t, dir, "names.after"), read(t, dir, "said"), code
}

// read returns the text of a file in a folder.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
