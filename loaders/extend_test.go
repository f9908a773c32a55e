package loaders_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/base/childproc"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"

	"github.com/rogpeppe/go-internal/txtar"
)

// extended builds a program from the sources, the sources in testdata/extend.txtar, and
// the lines for the tables in it. It returns the program's path.
func extended(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/extend.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	lay := func(path string, text []byte) {
		to := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(to, text, 0o666); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, path)] = to
	}
	for _, f := range archive.Files[1:] {
		lay(f.Name, f.Data)
	}
	for line := range strings.Lines(string(archive.Files[0].Data)) {
		part := strings.Split(strings.TrimSpace(line), "\t") // file, line of the table, line to add behind it
		text, err := os.ReadFile(filepath.Join(root, part[0]))
		if err != nil {
			t.Fatal(err)
		}
		before, after, found := bytes.Cut(text, []byte(part[1]))
		if !found {
			t.Fatalf("%s has no line %s", part[0], part[1])
		}
		lay(part[0], []byte(string(before)+part[1]+"\n"+part[2]+"\n"+string(after)))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "extended")
	run(t, root, "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./cmd/extended")
	return program
}

// run returns the output of a command.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := childproc.Run(cmd); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out.Bytes())
	}
	return out.String()
}

// A loader type, with a stage that only it has, is one file and one line of a table; a
// processing step is one file and one line, too. No other source changes.
func TestExtend(t *testing.T) {
	testruntime.Need(t)
	if testing.Short() {
		t.Skip("builds a program")
	}
	scaled := []fixture.Object{{"tensor": "id", "type": "times", "args": fixture.Object{"factor": 3}}}
	shuffled := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 4, "num_filenames_shuffle_buffer": 1, "num_mix_files": 1, "n": 3}
	tests := []struct {
		name, kind string
		args       fixture.Object
		want       string
	}{
		{"step", "independent", fixture.Object{"processing_steps": scaled, "target_batch_size": 4},
			"files; read; parse; times; repeat; batch; prefetch; [0 3 6 9][12 15 18 21][24 27]"},
		{"type", "every_nth", fixture.Object{"n": 4, "epochs": 2},
			"files; read; parse; repeat; every_nth; batch; prefetch; [0 4][8 2][6]"},
		{"type with a step, in another order", "every_nth", fixture.Object{"n": 2, "range": fixture.Object{"start": 3}, "processing_steps": scaled},
			"files; read; parse; times; repeat; every_nth; batch; prefetch; [9 15][21 27]"},
		{"type, shuffled", "every_nth", shuffled, "files; read; parse; shuffle; repeat; every_nth; batch; prefetch; ["},
		{"missing argument", "every_nth", nil, `missing key \"n\"`},
		{"wrong step", "independent", fixture.Object{"processing_steps": []fixture.Object{{"tensor": "xs", "type": "times", "args": fixture.Object{"factor": 3}}}},
			`times takes integers, and \"xs\" is float32`},
		{"wrong argument", "every_nth", fixture.Object{"n": 0}, "must be at least 1, got 0"},
		{"argument that the type refuses", "every_nth", fixture.Object{"n": 1001}, "args.n: 1001 leaves few examples"},
		{"unknown argument", "every_nth", fixture.Object{"n": 2, "min_window": 2}, "min_window"},
		{"unknown step", "independent", fixture.Object{"processing_steps": []fixture.Object{{"tensor": "id", "type": "time"}}}, `did you mean \"times\"?`},
	}
	var configs []string
	for _, tt := range tests {
		d := fixture.New(t)
		d.Type = tt.kind
		for key, value := range tt.args {
			d.Args[key] = value
		}
		d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 10)...)
		d.Save(t)
		configs = append(configs, d.Config())
	}
	lines := strings.Split(run(t, ".", extended(t), configs...), "\n")
	if len(lines) != len(tests)+1 {
		t.Fatalf("got %d lines, want %d", len(lines)-1, len(tests))
	}
	for i, tt := range tests {
		if got := lines[i]; !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
