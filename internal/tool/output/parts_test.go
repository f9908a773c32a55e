package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace"
)

// partBatches are the batches of an output in parts that tests write.
const partBatches = 5

// number makes a batch of a row that holds a number.
func number(n int) []Column {
	return []Column{numeric("n", everything()[4].DType, []int64{1}, int64(n))}
}

// writeParts writes, or continues, an output in parts of two batches. The state is the
// number of batches.
func writeParts(path string, job Job, overwrite bool) (complete bool, err error) {
	p, err := OpenParts(path, &PartsOptions{Batches: 2})
	if err != nil {
		return false, err
	}
	defer p.Close()
	state, complete, err := p.Begin(job, overwrite)
	if complete || err != nil {
		return complete, err
	}
	from := 0
	if state != nil {
		if from, err = strconv.Atoi(string(state)); err != nil {
			return false, err
		}
	}
	for n := from; n < partBatches; n++ {
		if err := p.Write(number(n), []byte(strconv.Itoa(n+1))); err != nil {
			return false, err
		}
	}
	return false, p.Commit(Counts{Records: partBatches + 1, Epochs: 1, LeftOut: 1})
}

func init() {
	// parts replaces an output in parts by one of the job "new", or continues it.
	children["parts"] = func(path string) {
		runtime.LockOSThread() // strace counts the calls of each thread
		if _, err := writeParts(path, Job{"model": "new"}, true); err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
	}
}

// partsOf returns the rows of an output in parts, and its _SUCCESS; nil if it is not
// complete. A _SUCCESS that does not match the parts is an error.
func partsOf(t *testing.T, path string) (rows string, success *Success) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path, successName))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	success = &Success{}
	if err := errors.Join(err, json.Unmarshal(text, success)); err != nil {
		t.Fatal(err)
	}
	for _, part := range success.Parts {
		data, err := os.ReadFile(filepath.Join(path, part.Name))
		if err != nil {
			t.Error(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != part.SHA256 || int64(len(data)) != part.Bytes || int64(bytes.Count(data, []byte("\n"))) != part.Rows {
			t.Errorf("%s is not what _SUCCESS says of it: %+v\n%s", part.Name, part, data)
		}
		rows += string(data)
	}
	return rows, success
}

const numbers = `{"n":0}` + "\n" + `{"n":1}` + "\n" + `{"n":2}` + "\n" + `{"n":3}` + "\n" + `{"n":4}` + "\n"

// complete fails unless an output in parts is complete, without other files.
func complete(t *testing.T, path string, job Job) {
	t.Helper()
	rows, success := partsOf(t, path)
	if success == nil || rows != numbers || !maps.Equal(success.Job, job) {
		t.Fatalf("got %s, %+v", rows, success)
	}
	if success.Rows != 5 || success.Batches != 5 || success.Bytes != int64(len(rows)) || success.Counts != (Counts{6, 1, 1, 0}) {
		t.Errorf("got %+v", success)
	}
	var names []string
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"_SUCCESS", "part-00000.ndjson", "part-00001.ndjson", "part-00002.ndjson"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the folder has %q, %v", names, err)
	}
}

func TestParts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.ndjson")
	old, other := Job{"model": "old", "seed": "7"}, Job{"model": "new", "seed": "7"}
	for _, want := range []bool{false, true} { // the second run finds it complete
		if done, err := writeParts(path, old, false); err != nil || done != want {
			t.Fatal(done, err)
		}
		complete(t, path, old)
	}
	_, err := writeParts(path, other, false)
	if !errors.Is(err, millrace.ErrCheckpoint) || !strings.Contains(err.Error(), "model was old and now is new;") || strings.Contains(err.Error(), "seed") {
		t.Errorf("another job: %v", err)
	}
	complete(t, path, old)
	if _, err := writeParts(path, other, true); err != nil {
		t.Fatal(err)
	}
	complete(t, path, other)
}

// begun leaves an output with a complete part of two batches, and an incomplete one.
func begun(t *testing.T, path string, job Job) {
	t.Helper()
	p, err := OpenParts(path, &PartsOptions{Batches: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, _, err := p.Begin(job, false); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenParts(path, &PartsOptions{Batches: 2}); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "another process is writing this output") {
		t.Errorf("a second job: %v", err)
	}
	for n := range 3 {
		if err := p.Write(number(n), []byte(strconv.Itoa(n+1))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Write(number(3), nil); !errors.Is(err, millrace.ErrInternal) {
		t.Errorf("a part without a state: %v", err)
	}
}

func TestPartsGoOn(t *testing.T) {
	job, other := Job{"data": "1"}, Job{"data": "2"}
	file := func(path, name string) string { return filepath.Join(path, name) }
	tests := []struct {
		name   string
		change func(path string) error
		job    Job
		want   string // part of the error; "": it continues
		again  bool   // overwriting starts over
	}{
		{"as it was", func(string) error { return nil }, job, "", true},
		{"another job", func(string) error { return nil }, other, "data was 1 and now is 2; name another folder, or replace it (--overwrite)", true},
		{"a part is gone", func(p string) error { return os.Remove(file(p, "part-00000.ndjson")) }, job, "part-00000.ndjson: the part is gone", false},
		{"a part is shorter", func(p string) error { return os.Truncate(file(p, "part-00000.ndjson"), 3) }, job, "the part has 3 bytes, and was written with 16", false},
		{"damaged", func(p string) error { return os.WriteFile(file(p, progressName), []byte("{"), 0o666) }, job, "_progress.json: is damaged", false},
		{"no progress", func(p string) error { return os.Remove(file(p, progressName)) }, job, "the folder holds part-00000.ndjson, and neither _SUCCESS nor", false},
		{"a part too many", func(p string) error { return os.WriteFile(file(p, "part-00007.ndjson"), nil, 0o666) }, job, "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.ndjson")
			begun(t, path, job)
			if _, success := partsOf(t, path); success != nil {
				t.Fatal("it is complete")
			}
			if err := test.change(path); err != nil {
				t.Fatal(err)
			}
			_, err := writeParts(path, test.job, false)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v", err)
			}
			if err == nil {
				complete(t, path, job)
			}
			if _, err := writeParts(path, test.job, true); (err == nil) != test.again {
				t.Errorf("overwriting: %v", err)
			} else if err == nil {
				complete(t, path, test.job)
			}
		})
	}
}

func TestPartsRefuse(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file.ndjson")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                                 "is a file, and an output in parts is a folder",
		filepath.Join(dir, "out.csv"):        "no output format",
		filepath.Join(dir, "in", "x.npz"):    "must not be, or be inside, the input",
		filepath.Join(dir, "none", "x.json"): "no output format",
		filepath.Join(dir, "none", "x.npz"):  "does not exist; make it first",
	} {
		if _, err := OpenParts(path, &PartsOptions{Options: Options{Inputs: []string{filepath.Join(dir, "in")}}, Batches: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// An output without rows has a part with the columns, and an output without a complete
// part leaves no folder.
func TestPartsWithoutRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.npz")
	for _, commit := range []bool{false, true} {
		p, err := OpenParts(path, &PartsOptions{Batches: 2})
		if err != nil {
			t.Fatal(err)
		}
		if commit {
			if _, _, err := p.Begin(Job{}, false); err != nil {
				t.Fatal(err)
			}
			if err := p.Commit(Counts{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(path, "part-00000.npz")); (err == nil) != commit {
			t.Errorf("commit %v: %v", commit, err)
		}
		if _, err := os.Stat(path); (err == nil) != commit {
			t.Errorf("commit %v: the folder: %v", commit, err)
		}
	}
}

// TestPartsKilledAtEachCall kills the process at each system call, while it writes an
// output and while it replaces one. A _SUCCESS always matches the parts, and the next
// run completes the output.
func TestPartsKilledAtEachCall(t *testing.T) {
	needStrace(t)
	for _, replace := range []bool{false, true} {
		t.Run(fmt.Sprintf("replace=%v", replace), func(t *testing.T) {
			t.Parallel()
			job, hits := Job{"model": "new"}, 0
			for _, call := range append(slices.Clone(outputCalls), "mkdirat", "unlinkat") {
				for n := 1; ; n = next(n) {
					path := filepath.Join(t.TempDir(), "out.ndjson")
					if replace {
						if _, err := writeParts(path, Job{"model": "old"}, false); err != nil {
							t.Fatal(err)
						}
					}
					if _, hit := tracedParts(t, path, call, n); !hit {
						complete(t, path, job)
						break
					}
					hits++
					partsOf(t, path)
					if _, err := writeParts(path, job, true); err != nil {
						t.Fatalf("%s %d: the next run: %v", call, n, err)
					}
					complete(t, path, job)
				}
			}
			if hits < 12 {
				t.Errorf("only %d kills", hits)
			}
			t.Logf("%d kills", hits)
		})
	}
}

// tracedParts is traced for an output in parts.
func tracedParts(t *testing.T, path, call string, n int) (said string, hit bool) {
	t.Helper()
	watched := []string{path, filepath.Dir(path)}
	for _, name := range []string{successName, progressName, "part-00000.ndjson", "part-00001.ndjson", "part-00002.ndjson"} {
		watched = append(watched, filepath.Join(path, name), temporary(filepath.Join(path, name)))
	}
	return injected(t, &injection{child: "parts", path: path, watched: watched, call: call, fault: "signal=KILL", n: n})
}
