package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The settings and the session about sequences in docs/serving.md give the events shown on the page.
func TestServeSequencePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?ms)^### Sequences\n.*?^    (\{.*?\}\]\}\]\})\n.*?^    \$ curl -N -d '([^']*)' localhost:8501(\S+)\n(.*?)\n\n- `).FindStringSubmatch(string(page))
	if m == nil {
		t.Fatal("docs/serving.md has no session about sequences")
	}
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(m[1]), 0o644); err != nil {
		t.Fatal(err)
	}
	at, stop := startServe(t, "--model", "decoder=../../testdata/models/decoder", "--model-settings", settings, "--enable_batching")
	code, headers, got := ask(t, http.MethodPost, "http://"+at["http"]+m[3], m[2])
	want := strings.TrimPrefix(strings.ReplaceAll(m[4], "\n    ", "\n"), "    ")
	if code != http.StatusOK || headers.Get("Content-Type") != "text/event-stream" || strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got %d %v\n%s\nwant\n%s", code, headers, got, want)
	}
	if code, log := stop(); code != 0 {
		t.Errorf("code %d\n%s", code, log)
	}
}
