package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The session on the first page of docs/serving.md gives what the page shows.
func TestServingPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, _ := strings.Cut(string(page), "```\n$ millrace serve ")
	session, _, ok := strings.Cut(session, "```\n")
	if !ok {
		t.Fatal("docs/serving.md has no session")
	}
	first, rest, _ := strings.Cut(session, " &\n")
	at, stop := startServe(t, strings.Fields(strings.Replace(first, "=testdata/", "=../../testdata/", 1))...)
	defer stop()
	asked := regexp.MustCompile(`(?m)^\$ curl (?:-d '(.*)' )?localhost:8501(\S+)\n(.*)$`).FindAllStringSubmatch(rest, -1)
	if n := strings.Count(rest, "$ "); len(asked) != n || n == 0 {
		t.Errorf("%d of %d commands are understood", len(asked), n)
	}
	for _, m := range asked {
		method := http.MethodGet
		if m[1] != "" {
			method = http.MethodPost
		}
		q, err := http.NewRequest(method, "http://"+at["http"]+m[2], strings.NewReader(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err != nil || strings.TrimSpace(string(text)) != m[3] {
			t.Errorf("%s %s\n got %s, %v\nwant %s", m[2], m[1], text, err, m[3])
		}
	}
}
