package main

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/test/fixture"
)

// A killed server keeps all of its request log that it had written. The remaining log
// is data that a loader reads. A truncated record is reported with its number, and the
// next server removes it.
func TestServeKilledLog(t *testing.T) {
	const requests = 6
	d := fixture.New(t)
	d.Manifest["features"] = []fixture.Object{{"name": "x", "dtype": "float32", "shape": []int{2}, "deserialize_type": "float"}}
	d.Args["primary_features"] = []fixture.Object{{"from_name": "x", "to_name": "xs"}}
	d.Save(t)
	prefix := filepath.Join(t.TempDir(), "requests")
	args := []string{"--model", "m=../../testdata/models/regressor", "--loader", "m=" + d.Config(), "--request-log", prefix, "--request-log-rate", "1"}
	server, at := startServer(t, args...)
	for range requests {
		answer, err := http.Post("http://"+at["http"]+"/v1/models/m:predict", "application/json", strings.NewReader(`{"signature_name": "examples", "examples": [{"x": [1, 2.5]}]}`))
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
		answer.Body.Close()
	}
	for !strings.Contains(get(t, "http://"+at["http"]+"/metrics"), "millrace_serving_logged_requests_total 6\n") {
		runtime.Gosched() // the log is written after the answers
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	server.Wait()
	left := only(t, prefix+"-examples-*.partial")
	whole, err := os.ReadFile(left)
	if err != nil {
		t.Fatal(err)
	}
	d.Write(t, "a.tfrecords", whole)
	if code, out := dumped(t, d); code != 0 || strings.Count(out, "2.5") != requests {
		t.Errorf("the log of a killed server: code %d\n%s", code, out)
	}
	cut := whole[:len(whole)-3]
	d.Write(t, "a.tfrecords", cut)
	if code, out := dumped(t, d); code != 3 || !strings.Contains(out, "a.tfrecords: record 5 (offset ") || !strings.Contains(out, "truncated") {
		t.Errorf("a log that is cut off: code %d\n%s", code, out)
	}
	if err := os.WriteFile(left, cut, 0o644); err != nil {
		t.Fatal(err)
	}
	_, stop := startServe(t, args...)
	if code, said := stop(); code != 0 {
		t.Fatalf("code %d:\n%s", code, said)
	}
	if whole, err = os.ReadFile(only(t, prefix+"-examples-*.tfrecords")); err != nil {
		t.Fatal(err)
	}
	d.Write(t, "a.tfrecords", whole)
	if code, out := dumped(t, d); code != 0 || strings.Count(out, "2.5") != requests-1 {
		t.Errorf("what the next server made of it: code %d\n%s", code, out)
	}
}

// only returns the path of the only file that matches a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) != 1 {
		t.Fatalf("%s: %q, %v", pattern, paths, err)
	}
	return paths[0]
}

// dumped returns the exit code of dump, and its output.
func dumped(t *testing.T, d *fixture.Dataset) (int, string) {
	t.Helper()
	var out strings.Builder
	code := runLine(t.Context(), &cli.Program{Stdout: &out, Stderr: &out}, []string{"dump", d.Config()})
	return code, out.String()
}
