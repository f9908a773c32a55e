package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
)

// How does a test run a page of two languages where only one is at hand? docs/keras.md is
// a session: blocks of Python, files of JSON and command lines, from top to bottom, in one
// folder. With a Python that has Keras the whole session runs: `make keras-page`. Without
// one, as in CI, the folders that Python's blocks make come from testdata/keras_page.tar.gz,
// and the JSON and the commands of the page run over them. The archive holds the blocks it
// was recorded from, so a page whose Python has changed fails until it is recorded again:
//
//	make keras-page RECORD=1

// kerasPython is the variable with the interpreter that runs the page's Python.
const kerasPython = "MILLRACE_KERAS_PYTHON"

var recordPage = flag.Bool("record-page", false, "write testdata/keras_page.tar.gz with what the Python of docs/keras.md makes")

const recordedPage = "testdata/keras_page.tar.gz"

// pageBlock is a block of the page: kind is its language, and name the rest of the line.
type pageBlock struct{ kind, name, text string }

func kerasPage(t *testing.T) (blocks []pageBlock, python string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/keras.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]+) ?([^\n]*)\n(.*?)^```").FindAllSubmatch(page, -1) {
		b := pageBlock{string(m[1]), string(m[2]), string(m[3])}
		blocks = append(blocks, b)
		if b.kind == "python" {
			python += b.text + "\n"
		}
	}
	if len(blocks) < 10 {
		t.Fatalf("docs/keras.md has %d blocks", len(blocks))
	}
	return blocks, python
}

// The session of docs/keras.md works as written, and its figures are right.
func TestKerasPage(t *testing.T) {
	testruntime.Need(t)
	blocks, python := kerasPage(t)
	dir := t.TempDir()
	var said string
	if interpreter := os.Getenv(kerasPython); interpreter != "" {
		said = runWholePage(t, interpreter, dir, blocks)
		if *recordPage {
			packPage(t, dir, python)
		}
	} else {
		unpackPage(t, dir, python)
		for _, b := range blocks {
			switch b.kind {
			case "json":
				if err := os.WriteFile(filepath.Join(dir, b.name), []byte(b.text), 0o666); err != nil {
					t.Fatal(err)
				}
			case "sh":
				said += runPageCommands(t, dir, b.text)
			}
		}
	}
	checkQuoted(t, said)
	checkServed(t, dir)
	for _, name := range []string{"trained/saved_model.pb", "predictions.ndjson", "runs/first/report.html", "runs/own/finished.json", "runs/transfer/finished.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("the session left no %s: %v", name, err)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "runs/transfer/log.ndjson"))
	if err != nil || !bytes.Contains(log, []byte(`"note":"the training continues although variables was head/* and now is all that are trainable","step":20`)) {
		t.Errorf("the log of the two phases, %v:\n%s", err, log)
	}
	if accuracy := pageAccuracy(t, said); accuracy < 0.9 {
		t.Errorf("accuracy %v after the session, want at least 0.9", accuracy)
	}
}

// runPageCommands runs a block of commands and returns their output.
func runPageCommands(t *testing.T, dir, lines string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", lines)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// checkQuoted compares the output of the session with the quotations on the page.
func checkQuoted(t *testing.T, said string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/keras.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("(?ms)^```\n(trains .*?)^```").FindSubmatch(page)
	if quoted == nil || !strings.Contains(said, string(quoted[1])) {
		t.Errorf("the page quotes %q; the output is\n%s", quoted, said)
	}
}

// checkServed serves the trained model as the page does. The answer is near the one on the
// page, and names the classes of the first images, which are 0, 1, 2 and 3. Tests run without
// oneDNN, and the page with it: the rounding of 96 steps of Adam changes a logit by 0.53. With
// oneDNN the command gives the page's digits.
func checkServed(t *testing.T, dir string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/keras.md")
	if err != nil {
		t.Fatal(err)
	}
	session := regexp.MustCompile("(?ms)^```\n\\$ millrace serve --model (\\S+)=(\\S+) &\n\\$ curl -d @(\\S+) localhost:8501(\\S+)\n(.*?)\n```\n").FindStringSubmatch(string(page))
	if session == nil {
		t.Fatal("docs/keras.md has no session with a server")
	}
	at, stop := startServe(t, "--model", session[1]+"="+filepath.Join(dir, session[2]))
	defer stop()
	request, err := os.ReadFile(filepath.Join(dir, session[3]))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post("http://"+at["http"]+session[4], "application/json", bytes.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	got, want := predictions(t, string(text)), predictions(t, session[5])
	if err != nil || len(got) != 4 || len(got) != len(want) {
		t.Fatalf("the server answers %s, %v; the page says %s", text, err, session[5])
	}
	for i, row := range got {
		if class := slices.Index(row, slices.Max(row)); class != i {
			t.Errorf("image %d is of class %d in %v", i, class, row)
		}
		for k := range row {
			if math.Abs(row[k]-want[i][k]) > 1 {
				t.Fatalf("the server answers\n%s\nand the page says\n%s", text, session[5])
			}
		}
	}
}

// predictions returns the rows of an answer of REST.
func predictions(t *testing.T, text string) [][]float64 {
	t.Helper()
	var answer struct{ Predictions [][]float64 }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%v in the answer %s", err, text)
	}
	return answer.Predictions
}

// runWholePage runs the page with Python's blocks in one process, which runs the commands
// as well. It returns the output.
func runWholePage(t *testing.T, interpreter, dir string, blocks []pageBlock) string {
	t.Helper()
	var script strings.Builder
	script.WriteString("import subprocess\n")
	literal := func(text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(quoted)
	}
	for _, b := range blocks {
		switch b.kind {
		case "python":
			script.WriteString(b.text + "\n")
		case "json":
			fmt.Fprintf(&script, "open(%s, 'w').write(%s)\n", literal(b.name), literal(b.text))
		case "sh":
			fmt.Fprintf(&script, "subprocess.run(['sh', '-ec', %s], check=True)\n", literal(b.text))
		}
	}
	script.WriteString("print('EVALUATED', *evaluated)\n")
	cmd := exec.CommandContext(t.Context(), interpreter, "-c", script.String())
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the page in Python: %v\n%s", err, out)
	}
	var loss, accuracy float64
	_, rest, _ := strings.Cut(string(out), "EVALUATED ")
	if _, err := fmt.Sscan(rest, &loss, &accuracy); err != nil || math.Abs(accuracy-pageAccuracy(t, string(out))) > 1e-6 {
		t.Errorf("Keras evaluates the trained model to %v, %v; millrace to %v; %v", loss, accuracy, pageAccuracy(t, string(out)), err)
	}
	return string(out)
}

// pageAccuracy returns the accuracy that the page's millrace evaluate printed.
func pageAccuracy(t *testing.T, said string) float64 {
	t.Helper()
	line := regexp.MustCompile(`(?m)^\{"step".*"metrics".*$`).FindString(said)
	var evaluated struct {
		Metrics struct{ Accuracy float64 }
	}
	if err := json.Unmarshal([]byte(line), &evaluated); err != nil {
		t.Fatalf("%v in the output\n%s", err, said)
	}
	return evaluated.Metrics.Accuracy
}

// packPage records the files that the page's Python made, and the Python.
func packPage(t *testing.T, dir, python string) {
	t.Helper()
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zip)
	add := func(name string, text []byte) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o666, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	add("page.py", []byte(python))
	for _, folder := range []string{"data", "model", "own", "request.json"} {
		root := os.DirFS(dir)
		err := fs.WalkDir(root, folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(root, name)
			add(name, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close(), os.WriteFile(recordedPage, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// unpackPage writes the recorded files of the page's Python.
func unpackPage(t *testing.T, dir, python string) {
	t.Helper()
	packed, err := os.ReadFile(recordedPage)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "page.py" {
			if string(text) != python {
				t.Fatal("the Python of docs/keras.md has changed since testdata/keras_page.tar.gz was recorded; type make keras-page RECORD=1")
			}
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
