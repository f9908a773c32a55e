package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"millrace/internal/test/special"
	"millrace/internal/test/testruntime"
)

// lab has the files of a case's folder: the example of digits, a run that has begun,
// and small files of each format.
func lab(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/digits")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"run/run.json": `{"seed":7}`, "run/log.ndjson": `{"step":1,"loss":2}` + "\n", "run/checkpoints/checkpoint": `model_checkpoint_path: "ckpt-1"` + "\n",
		"in/a.csv": "x\n1\n", "ledger.ndjson": `{"file":"data/heldback/heldback-00000-of-00002.tfrecords","ordinal":0,"offset":0,"length":1}` + "\n",
		"list.json": `["data/heldback/heldback-00000-of-00002.tfrecords"]`,
		"list-config.json": `{"type":"independent","args":{"dataset":{"type":"list","args":{"list_file":"list.json","manifest_file":"data/heldback/__manifest__.json"}},
			"target_batch_size":4,"epochs":1,"primary_features":[{"from_name":"image","to_name":"image"}]}}`,
		"parts/_PROGRESS.json": "{}", ".new.millrace-part/progress.json": "{}",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// specialFileCases are commands and a file that each of them reads. With ignored the
// command does its work without the file.
var specialFileCases = []struct {
	command string
	file    string
	ignored bool
}{
	{"inspect data/heldback", "data/heldback/heldback-00000-of-00002.tfrecords", false},
	{"inspect data/heldback", "data/heldback/__manifest__.json", true},
	{"inspect --sample 1 data/heldback", "data/heldback/heldback-00000-of-00002.tfrecords.millrace-index", true},
	{"inspect model", "model/saved_model.pb", false},
	{"inspect model", "model/fingerprint.pb", false},
	{"inspect model", "model/variables/variables.index", false},
	{"inspect model", "model/variables/variables.data-00000-of-00001", false},
	{"index data/heldback", "data/heldback/heldback-00000-of-00002.tfrecords", false},
	{"index data/heldback", "data/heldback/heldback-00000-of-00002.tfrecords.millrace-index", true},
	{"check predict.json", "predict.json", false},
	{"check predict.json", "data/heldback/__manifest__.json", false},
	{"check list-config.json", "list.json", false},
	{"plan predict.json", "predict.json", false},
	{"plan --model model predict.json", "model/saved_model.pb", false},
	{"plan predict.json", "data/heldback/heldback-00000-of-00002.tfrecords.millrace-index", true},
	{"shuffle --report train.json", "data/train/train-00000-of-00004.tfrecords", false},
	{"dump predict.json", "data/heldback/heldback-00000-of-00002.tfrecords", false},
	{"bench predict.json", "data/heldback/heldback-00000-of-00002.tfrecords", false},
	{"bench predict.json", "predict.json", false},
	{"predict predict.json --model model --out out.ndjson", "model/saved_model.pb", false},
	{"predict predict.json --model model --out out.ndjson", "data/heldback/heldback-00001-of-00002.tfrecords", false},
	{"predict predict.json --model model --out out.ndjson", "out.ndjson", false},
	{"predict predict.json --model model --out out.ndjson", "out.ndjson.quarantine.ndjson", true},
	{"predict predict.json --model model --part-batches 1 --out parts", "parts/_PROGRESS.json", true},
	{"train run.json --dir new", "run.json", false},
	{"train run.json --dir new", "train.json", false},
	{"train run.json --dir new", "untrained/saved_model.pb", false},
	{"train run.json --dir run", "run/run.json", false},
	{"train run.json --dir run", "run/log.ndjson", true},
	{"train run.json --dir run", "run/checkpoints/checkpoint", true},
	{"evaluate run.json --dir run", "run/run.json", false},
	{"evaluate run.json --dir run", "run/checkpoints/checkpoint", false},
	{"evaluate run.json --dir run --checkpoint run/x", "run/x.index", false},
	{"evaluate run.json --dir run --checkpoint run/x", "run/x.json", false},
	{"export run", "run/run.json", false},
	{"export run", "run/checkpoints/ckpt-1.json", false},
	{"export run --checkpoint run/x", "run/x.index", false},
	{"report run --out page.html", "run/run.json", false},
	{"report run --out page.html", "run/log.ndjson", false},
	{"report run --out page.html", "run/finished.json", false},
	{"report run --out page.html", "run/input.json", false},
	{"report run --out page.html", "page.html", true},
	{"quarantine extract ledger.ndjson bad.tfrecords", "ledger.ndjson", false},
	{"quarantine extract ledger.ndjson bad.tfrecords", "data/heldback/heldback-00000-of-00002.tfrecords", false},
	{"convert in/a.csv --out new", "in/a.csv", false},
	{"convert in/a.csv --out new", ".new.millrace-part/progress.json", true},
	{"convert in/a.csv --out new --manifest m.json", "m.json", false},
	{"convert in --out new", "in/b.csv", true},
	{"convert in/b.tsv --out new", "in/b.tsv", false},
	{"convert in/b.ndjson --out new", "in/b.ndjson", false},
	{"convert in/b.parquet --out new", "in/b.parquet", false},
	{"convert in/b.arrow --out new", "in/b.arrow", false},
	{"convert in/b.npz --out new", "in/b.npz", false},
	{"convert in/b.png --out new", "in/b.png", false},
	{"convert in/b.wav --out new", "in/b.wav", false},
	{"convert data/heldback --out new", "data/heldback/__manifest__.json", false},
	{"convert data/heldback/heldback-00000-of-00002.tfrecords --out new", "data/heldback/heldback-00000-of-00002.tfrecords", false},
	{"convert data/heldback --out new", "data/heldback/heldback-00000-of-00002.tfrecords.millrace-index", true},
	{"serve --port 0 --rest_api_port 0 --model_config_file models.txt", "models.txt", false},
	{"serve --port 0 --rest_api_port 0 --model m=model --enable_batching --batching_parameters_file batching.txt", "batching.txt", false},
	{"serve --port -1 --rest_api_port 0 --model m=model --ssl_config_file ssl.txt", "ssl.txt", false},
	{"runtime install --from runtime.whl --force", "runtime.whl", false},
	{"runtime info --runtime rt", "rt/runtime.json", false},
	{"runtime info --runtime rt", "rt/libtensorflow_cc.so.2", false},
	{"ops info lib.so", "lib.so", false},
}

// A path to a FIFO, a socket, a folder or a device is refused, and no command waits for
// it. Each command is a separate process, so that one that waits can be ended.
func TestSpecialFiles(t *testing.T) {
	for _, tt := range specialFileCases {
		for kind, make := range special.Kinds {
			t.Run(fmt.Sprintf("%s/%s/%s", strings.Fields(tt.command)[0], filepath.Base(tt.file), kind), func(t *testing.T) {
				t.Parallel()
				dir := lab(t)
				path := filepath.Join(dir, tt.file)
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				make(t, path)
				refuses(t, dir, tt.command, !tt.ignored && kind != "folder") // folders in a dataset are skipped
			})
		}
	}
}

// An output that is a FIFO or a device is not replaced by a file.
func TestSpecialOutputs(t *testing.T) {
	for _, kind := range []string{"fifo", "device", "folder"} {
		dir := lab(t)
		path := filepath.Join(dir, "page.html")
		special.Kinds[kind](t, path)
		refuses(t, dir, "report run --out page.html", true)
		if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
			t.Errorf("%s: the output became %v, %v", kind, info, err)
		}
	}
}

// refuses runs a command in a folder. It fails the test if the command does not end, or
// ends in another way than by an error that it explains.
func refuses(t *testing.T, dir, command string, must bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a watchdog
	defer cancel()
	cmd := exec.CommandContext(ctx, "millrace", strings.Fields(command)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "MILLRACE_RUNTIME="+os.Getenv("MILLRACE_RUNTIME"))
	said, err := cmd.CombinedOutput()
	code := cmd.ProcessState.ExitCode()
	switch {
	case ctx.Err() != nil:
		t.Fatalf("millrace %s did not end: %s", command, said)
	case code < 0 || code > 7:
		t.Fatalf("millrace %s: %v: %.2000s", command, err, said)
	case must && code == 0:
		t.Errorf("millrace %s: no error: %s", command, said)
	}
}

// What cannot be written to standard output is an error: where it is full, and where it
// was closed when the program began, which Go replaces by /dev/null. A user's own
// /dev/null is none, even if it is open for reading, as Python opens it.
func TestStandardOutputs(t *testing.T) {
	testruntime.Need(t)
	dir := lab(t)
	for _, command := range []string{
		"predict predict.json --model model --keep label --out -", "dump predict.json", "inspect model", "check predict.json",
		"help", "serve --help", "--version", "completion bash",
	} {
		for output, want := range map[string]int{">&-": 7, ">/dev/full": 7, ">/dev/null": 0, "1<>/dev/null": 0} {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", `exec millrace "$@" `+output, "sh")
			cmd.Args = append(cmd.Args, strings.Fields(command)...)
			cmd.Dir = dir
			said, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != want {
				t.Errorf("millrace %s %s: exit code %d, want %d: %s", command, output, code, want, said)
			}
			if want != 0 && !strings.Contains(string(said), "standard output") {
				t.Errorf("millrace %s %s: %s", command, output, said)
			}
		}
	}
}
