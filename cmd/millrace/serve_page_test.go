package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The sessions with a server in docs/serving.md give the results shown on the page.
func TestServingPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	sessions := regexp.MustCompile("(?ms)^```\n\\$ millrace serve (.*?) &\n(.*?)^```\n").FindAllStringSubmatch(string(page), -1)
	if len(sessions) != 2 {
		t.Fatalf("docs/serving.md has %d sessions", len(sessions))
	}
	for _, session := range sessions {
		at, stop := startServe(t, strings.Fields(strings.Replace(session[1], "=testdata/", "=../../testdata/", 1))...)
		checkSession(t, "http://"+at["http"], session[2])
		stop()
	}
}

// checkSession sends the requests of a session to a server.
func checkSession(t *testing.T, url, session string) {
	t.Helper()
	asked := regexp.MustCompile(`(?m)^\$ curl (?:-d '(.*)' )?localhost:8501(\S+)\n(.*)$`).FindAllStringSubmatch(session, -1)
	if n := strings.Count(session, "$ "); len(asked) != n || n == 0 {
		t.Errorf("%d of %d commands are understood", len(asked), n)
	}
	for _, m := range asked {
		method := http.MethodGet
		if m[1] != "" {
			method = http.MethodPost
		}
		q, err := http.NewRequest(method, url+m[2], strings.NewReader(m[1]))
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
