package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/test/testruntime"
	"millrace/loaders/writer"
)

// table writes a CSV file with n rows.
func table(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("id,x,name\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%g,row %d\n", i, float64(i)/8, i)
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// stopConversion starts a conversion and sends it a signal when one shard is complete.
// It reports whether the conversion was still running.
func stopConversion(t *testing.T, sig syscall.Signal, args ...string) (stderr string, code int, stopped bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "millrace", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := args[len(args)-1]
	isThere := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	for !isThere(filepath.Join(writer.PartFolder(out), "progress.json")) && !isThere(out) {
		runtime.Gosched()
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	return said.String(), cmd.ProcessState.ExitCode(), !isThere(out)
}

// TestConvertKilled stops conversions: an incomplete dataset never looks complete, and
// the same command ends with the bytes of a conversion that was not stopped.
func TestConvertKilled(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			// A small conversion may end before it gets the signal.
			rows := 20_000
			for !convertStopped(t, sig, rows) {
				if rows *= 4; rows > 6_000_000 {
					t.Fatalf("conversions of %d rows and less ended in spite of the signal", rows/4)
				}
			}
		})
	}
}

// convertStopped stops a conversion of a number of rows and repeats it. It reports
// whether the signal came early enough.
func convertStopped(t *testing.T, sig syscall.Signal, rows int) bool {
	t.Helper()
	in, dir := table(t, rows), t.TempDir()
	line := func(out string) []string { return []string{"convert", in, "--shard-bytes", "60000", "--out", out} }
	convert := func(out string) string {
		t.Helper()
		var said bytes.Buffer
		p := &cli.Program{Stdout: &said, Stderr: io.Discard}
		if code := runLine(t.Context(), p, line(out)); code != 0 {
			t.Fatalf("exit code %d: %s", code, &said)
		}
		return said.String()
	}
	whole, out := filepath.Join(dir, "whole"), filepath.Join(dir, "out")
	said, code, stopped := stopConversion(t, sig, line(out)...)
	if !stopped {
		return false
	}
	if sig == syscall.SIGINT && (code != 130 || !strings.Contains(said, "is not written; the same command goes on after the last whole shard")) {
		t.Errorf("exit code %d: %s", code, said)
	}
	if got := convert(out); !strings.Contains(got, "of them by an earlier run") {
		t.Errorf("it began anew: %s", got)
	}
	convert(whole)
	sameFiles(t, whole, out)
	return true
}

// sameFiles compares the data files of two datasets.
func sameFiles(t *testing.T, want, got string) {
	t.Helper()
	for _, dirs := range [][2]string{{want, got}, {got, want}} {
		paths, err := filepath.Glob(filepath.Join(dirs[0], "*.tfrecords"))
		if err != nil || len(paths) < 2 {
			t.Fatalf("%s has %d shards (%v)", dirs[0], len(paths), err)
		}
		for _, path := range paths {
			a, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(dirs[1], filepath.Base(path))); err != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: not the same in %s (%v)", path, dirs[1], err)
			}
		}
	}
}

// TestConvertedValues reads the output of convert: TensorFlow's parser, or our own
// operation, gives the values of the input.
func TestConvertedValues(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	in := filepath.Join(dir, "in.csv")
	if err := os.WriteFile(in, []byte("id,x,name,ok\n-9223372036854775808,0.1,süß,true\n7,,\"a,b\",false\n0,-inf,,true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "loader.json")
	const text = `{"type": "independent", "args": {"dataset": {"type": "dir", "args": {"data_dir": "data"}}, "target_batch_size": 3, "epochs": 1,
		"drop_remainder": false, "shuffle": false, "num_parallel_reads": 1, "num_parallel_parses": 1, "num_read_buffer_bytes": 0, "num_prefetch": 0,
		"padding": [{"tensor": "x", "value": -1}], "primary_features": [{"from_name": "id", "to_name": "id"}, {"from_name": "x", "to_name": "x"},
		{"from_name": "name", "to_name": "name"}, {"from_name": "ok", "to_name": "ok"}]}}`
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = `{"id": {"dtype": "int64", "shape": [3], "values": [-9223372036854775808, 7, 0]}, ` +
		`"x": {"dtype": "float32", "shape": [3, 1], "values": [0.1, -1, "-Infinity"]}, ` +
		`"name": {"dtype": "string", "shape": [3], "values": ["süß", "a,b", ""]}, "ok": {"dtype": "bool", "shape": [3], "values": [true, false, true]}}` + "\n"
	for _, args := range [][]string{{"convert", in, "--out", filepath.Join(dir, "data")}, {"dump", config, "--text", "name"}} {
		var stdout, stderr bytes.Buffer
		if code := runLine(t.Context(), &cli.Program{Stdout: &stdout, Stderr: &stderr}, args); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
		}
		if args[0] == "dump" && stdout.String() != want {
			t.Errorf("got %s\nwant %s", &stdout, want)
		}
	}
}
