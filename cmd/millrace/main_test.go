package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// tests runs the tests with the interface that testscript requires.
type tests struct{ m *testing.M }

// Run runs the tests without oneDNN. With it TensorFlow looks up the kernels of every
// operation of every function that it prepares, to see whether oneDNN has a faster one.
// That takes a quarter of the time of TestCases, which runs no operation that oneDNN
// has. Programs started by scripts use oneDNN, because testscript gives them another
// environment.
func (t tests) Run() int {
	if err := os.Setenv("TF_ENABLE_ONEDNN_OPTS", "0"); err != nil {
		panic(err)
	}
	return tfmain.RunMixed(t.m)
}

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"millrace": main, "tensorflow_model_server": main, "crash": crash, "hungry": hungry, "squatter": squatter})
}

// runLine runs a command line and returns the exit code.
func runLine(ctx context.Context, p *cli.Program, args []string) int {
	return p.Run(ctx, root(p), args)
}

// crash is a program that fails as millrace would if a goroutine panicked.
func crash() {
	cli.EndCrashesBySignal(nil)
	go panic("lost marbles")
	select {}
}

// A crash must not look like a wrong config, which is exit code 2.
func TestCrash(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "crash")
	said, err := cmd.CombinedOutput()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGABRT || !strings.Contains(string(said), "lost marbles") {
		t.Errorf("it ended with %v: %v\n%.300s", status, err, said)
	}
}

// TestScripts runs testdata/script: each file is a session at a shell, with
// the project's own program. Scripts in testdata/runtime need the runtime.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

func TestRuntimeScripts(t *testing.T) {
	testruntime.Need(t)
	runScripts(t, "testdata/runtime")
}

func runScripts(t *testing.T, dir string) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("MODELS", filepath.Join(root, "testdata", "models"))
			e.Setenv("ROOT", root)
			if r, err := tfbridge.Open(nil); err == nil {
				e.Setenv(tfbridge.RuntimeEnv, r.Dir())
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "dataset": scriptDataset, "loader": scriptLoader, "flip": scriptFlip,
			"records": scriptRecords, "files": scriptFiles,
		},
	})
}

// scriptCode runs a program that must end with an exit code:
//
//	code 2 millrace check bad.json
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// scriptDataset writes a dataset with a number of files and a number of records in
// each:
//
//	dataset data 2 5
//
// Record n holds id = n, x = [n, n/2, -n] and text = "t<n>".
func scriptDataset(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: dataset DIR FILES RECORDS")
	}
	files, err := strconv.Atoi(args[1])
	ts.Check(err)
	records, err := strconv.Atoi(args[2])
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	n := 0
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("part-%d.tfrecords", i)))
		ts.Check(err)
		w := tfrecord.NewWriter(f, tfrecord.None)
		for range records {
			ts.Check(w.Write(record(n)))
			n++
		}
		ts.Check(w.Close())
		ts.Check(f.Close())
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "__manifest__.json"), []byte(manifest), 0o644))
}

// record is a record of a script's dataset.
func record(n int) []byte {
	x := float32(n)
	return example.Marshal([]example.Named{
		{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{int64(n)}}},
		{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: []float32{x, x / 2, -x}}},
		{Name: "text", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{fmt.Appendf(nil, "t%d", n)}}},
	})
}

const manifest = `{
  "compression": null,
  "allow_var_len": false,
  "features": [
    {"name": "id", "dtype": "int64", "shape": [], "deserialize_type": "int"},
    {"name": "x", "dtype": "float32", "shape": [3], "deserialize_type": "float"},
    {"name": "text", "dtype": "string", "shape": [], "deserialize_type": "string"}
  ]
}
`

// scriptLoader writes a loader config over a dataset; further words replace arguments,
// or remove them if nothing follows the equals sign:
//
//	loader loader.json data epochs=null 'primary_features=[...]' num_prefetch=
func scriptLoader(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: loader FILE DIR [key=json ...]")
	}
	primary := func(name string) map[string]string { return map[string]string{"from_name": name, "to_name": name} }
	config := map[string]any{
		"dataset":           map[string]any{"type": "dir", "args": map[string]string{"data_dir": ts.MkAbs(args[1])}},
		"target_batch_size": 4, "drop_remainder": false, "epochs": 1, "num_read_buffer_bytes": 65536, "num_prefetch": 1,
		"primary_features": []any{primary("id"), primary("x")},
	}
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		delete(config, key)
		if value != "" {
			config[key] = json.RawMessage(value)
		}
	}
	b, err := json.MarshalIndent(map[string]any{"type": "independent", "args": config}, "", " ")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// scriptFlip flips a bit of a file:
//
//	flip data/part-0.tfrecords 100
func scriptFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET")
	}
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	b[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// scriptRecords prints the Examples of a TFRecord file for stdout to match.
func scriptRecords(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: records FILE")
	}
	for rec, err := range tfrecord.Records(ts.MkAbs(args[0]), nil) {
		ts.Check(err)
		features, err := example.Parse(rec.Data)
		ts.Check(err)
		named, err := features.Decode()
		ts.Check(err)
		for _, n := range named {
			fmt.Fprintf(ts.Stdout(), "%d %s %v%v%q\n", rec.Ordinal, n.Name, n.Feature.Ints, n.Feature.Floats, n.Feature.Bytes)
		}
	}
}

// scriptFiles checks what a folder holds, hidden files too:
//
//	files out a.npz b.npz
func scriptFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: files DIR name ...")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), strings.Join(args[1:], " "); got != want {
		ts.Fatalf("%s holds %s, want %s", args[0], got, want)
	}
}
