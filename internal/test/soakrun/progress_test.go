package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A run that starts again skips what has passed, tries again what failed, and counts the
// time of both.
func TestProgress(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":       "module m\n",
		"soak/soak.go": "package soak\n\nfunc Long() bool { return true }\n",
		"m_test.go": `package m

import (
	"os"
	"testing"

	"m/soak"
)

func log(text string) {
	f, _ := os.OpenFile("log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	f.WriteString(text)
	f.Close()
}

func TestGood(t *testing.T) { log("good "); soak.Long() }
func TestBad(t *testing.T)  { log("bad "); if _, err := os.Stat("mended"); err != nil { t.Fatal(err) }; soak.Long() }
func FuzzIt(f *testing.F)   {}
`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	for i, want := range []struct {
		failed int
		log    string
	}{{1, "bad good "}, {0, "bad "}, {0, ""}} {
		p, err := openProgress("progress")
		if err != nil {
			t.Fatal(err)
		}
		if (i > 0) != (p.spent > 0) {
			t.Errorf("run %d: %s spent before", i, p.spent)
		}
		failed, err := run(context.Background(), time.Minute, regexp.MustCompile("Test"), p)
		if err != nil || failed != want.failed {
			t.Errorf("run %d: %d failed, %v", i, failed, err)
		}
		if err := p.file.Close(); err != nil {
			t.Fatal(err)
		}
		if log, _ := os.ReadFile("log"); string(log) != want.log {
			t.Errorf("run %d: ran %q, want %q", i, log, want.log)
		}
		if i == 0 { // as a run leaves it that is killed while it writes
			f, err := os.OpenFile("progress", os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString("3s m.TestB"); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("mended", nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll("log"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("other", []byte("1s good\nsoon bad\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openProgress("other"); err == nil || !strings.Contains(err.Error(), "other:2:") {
		t.Errorf("a file of something else: %v", err)
	}
}
