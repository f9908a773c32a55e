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

// The session of examples/sentiment works as written: from CSV files to a server whose answers to
// texts are right.
func TestSentimentPage(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/sentiment")); err != nil {
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
			model := regexp.MustCompile(`^millrace serve --model sentiment=(\S+) --rest_api_port 8501$`).FindStringSubmatch(text)
			if model == nil {
				t.Fatalf("the page has another form: %s", text)
			}
			_, at := startServer(t, "--model", "sentiment="+filepath.Join(dir, model[1]))
			base = "http://" + at["http"]
		case "curl":
			post := regexp.MustCompile(`^curl -d '(.*)' localhost:8501(/\S+)$`).FindStringSubmatch(text)
			if post == nil {
				t.Fatalf("the page has another form: %s", text)
			}
			answered = true
			checkSentiments(t, base+post[2], post[1])
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

// checkSentiments asks for the sentiments of a good and a bad review.
func checkSentiments(t *testing.T, url, body string) {
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
	var got struct{ Predictions []struct{ Positive float64 } }
	if err := json.Unmarshal(text, &got); err != nil || len(got.Predictions) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	if got.Predictions[0].Positive < 0.8 || got.Predictions[1].Positive > 0.2 {
		t.Errorf("got %s, want a high and a low number", text)
	}
}
