package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
)

// The sessions of examples/sentiment, examples/flowers and examples/speech work as written: from files to a
// server whose answers are right.
func TestExamplePages(t *testing.T) {
	testruntime.Need(t)
	for _, tt := range []struct {
		name  string
		check func(t *testing.T, answer []byte)
	}{
		{"sentiment", checkSentiments},
		{"flowers", func(t *testing.T, answer []byte) { checkClasses(t, answer, 2, 3) }},
		{"speech", func(t *testing.T, answer []byte) { checkClasses(t, answer, 1, 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) { runExamplePage(t, tt.name, tt.check) })
	}
}

// runExamplePage runs what the page of an example says, and checks the answer of the server.
func runExamplePage(t *testing.T, name string, check func(t *testing.T, answer []byte)) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../examples", name))); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var said string
	var base string
	answered := false
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		switch kind, text := m[1], strings.TrimSpace(m[2]); kind {
		case "sh":
			said += runPageCommands(t, dir, text)
		case "serve":
			model := regexp.MustCompile(`^millrace serve --model ` + name + `=(\S+) --rest_api_port 8501$`).FindStringSubmatch(text)
			if model == nil {
				t.Fatalf("the page has another form: %s", text)
			}
			_, at := startServer(t, "--model", name+"="+filepath.Join(dir, model[1]))
			base = "http://" + at["http"]
		case "curl":
			post := regexp.MustCompile(`^curl -d (?:'(.*)'|@(\S+)) localhost:8501(/\S+)$`).FindStringSubmatch(text)
			if post == nil {
				t.Fatalf("the page has another form: %s", text)
			}
			body := []byte(post[1])
			if post[2] != "" {
				if body, err = os.ReadFile(filepath.Join(dir, post[2])); err != nil {
					t.Fatal(err)
				}
			}
			answered = true
			check(t, askPage(t, base+post[3], string(body)))
		}
	}
	if !answered {
		t.Error("the page asks nothing of the server")
	}
	accuracy := regexp.MustCompile(`"accuracy": *([0-9.]+)`).FindStringSubmatch(said)
	if accuracy == nil || accuracy[1] < "0.9" {
		t.Errorf("accuracy %v, want at least 0.9:\n%s", accuracy, said)
	}
}

// askPage returns the answer to a request.
func askPage(t *testing.T, url, body string) []byte {
	t.Helper()
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkSentiments checks the answer for a good and a bad review.
func checkSentiments(t *testing.T, answer []byte) {
	var got struct{ Predictions []struct{ Positive float64 } }
	if err := json.Unmarshal(answer, &got); err != nil || len(got.Predictions) != 2 {
		t.Fatalf("%v: %s", err, answer)
	}
	if got.Predictions[0].Positive < 0.8 || got.Predictions[1].Positive > 0.2 {
		t.Errorf("got %s, want a high and a low number", answer)
	}
}

// checkClasses checks that an answer finds some classes probable.
func checkClasses(t *testing.T, answer []byte, classes ...int) {
	t.Helper()
	var got struct {
		Predictions []struct{ Probabilities []float64 }
	}
	if err := json.Unmarshal(answer, &got); err != nil || len(got.Predictions) != len(classes) {
		t.Fatalf("%v: %s", err, answer)
	}
	for i, class := range classes {
		if p := got.Predictions[i].Probabilities; class >= len(p) || p[class] < 0.7 {
			t.Errorf("got %v for instance %d, want class %d", p, i, class)
		}
	}
}
