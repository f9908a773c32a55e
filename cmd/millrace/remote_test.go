package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/remotetest"
	"millrace/internal/test/testruntime"
)

// A command reads a config in a bucket from within the sandbox, over connections that are
// cut, as it reads a copy on the disk.
func TestCommandsReadStores(t *testing.T) {
	testruntime.Need(t)
	d := fixture.Points(t, 3, nil)
	d.Args["dataset"] = fixture.Object{"type": "dir", "args": fixture.Object{"data_dir": "data"}}
	d.Save(t)
	s := remotetest.NewServer()
	for _, name := range []string{"loader.json", "data/__manifest__.json", "data/a.tfrecords", "data/b.tfrecords", "data/c.tfrecords"} {
		text, err := os.ReadFile(filepath.Join(d.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s.Put("/songs/"+name, text)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	run := func(args ...string) (string, string, error) {
		cmd := exec.CommandContext(t.Context(), "millrace", args...)
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+server.URL, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=very-secret")
		var errors strings.Builder
		cmd.Stderr = &errors
		out, err := cmd.Output()
		return string(out), errors.String(), err
	}
	want, said, err := run("dump", d.Config())
	if err != nil {
		t.Fatal(err, said)
	}
	got, said, err := run("dump", "s3://songs/loader.json")
	if err != nil || got != want {
		t.Errorf("%v, %s\ngot  %.300s\nwant %.300s", err, said, got, want)
	}
	_, said, err = run("dump", "s3://songs/none.json")
	const missing = "s3://songs/none.json: "
	if err == nil || !strings.Contains(said, missing) || !strings.Contains(said, "there is no such object") || strings.Contains(said, "very-secret") {
		t.Errorf("a config that is missing: %v, %s", err, said)
	}
}
