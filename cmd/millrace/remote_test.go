package main

import (
	"net/http"
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

// bucketOf serves a bucket, and returns a function that runs a command with its address.
func bucketOf(t *testing.T) (*remotetest.Server, func(args ...string) (out, said string, err error)) {
	t.Helper()
	s := remotetest.NewServer()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, func(args ...string) (string, string, error) {
		cmd := exec.CommandContext(t.Context(), "millrace", args...)
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+server.URL, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=very-secret")
		var errors strings.Builder
		cmd.Stderr = &errors
		out, err := cmd.Output()
		return string(out), errors.String(), err
	}
}

// A command writes a dataset to a bucket from within the sandbox, and reads it back. A command
// that fails leaves no object.
func TestCommandsWriteStores(t *testing.T) {
	s, run := bucketOf(t)
	rows := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(rows, []byte("id,x\n"+strings.Repeat("1,0.5\n2,1.5\n", 50)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, said, err := run("convert", rows, "--out", "s3://songs/made", "--shards", "3"); err != nil {
		t.Fatal(err, said)
	}
	for _, name := range []string{"__manifest__.json", "convert.json", "part-00002.tfrecords", "part-00002.tfrecords.millrace-index"} {
		if s.Object("/songs/made/"+name) == nil {
			t.Errorf("there is no %s", name)
		}
	}
	if s.Object("/songs/made/progress.json") != nil || s.Uploads() != 0 {
		t.Error("something is left that is not part of the dataset")
	}
	text, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	s.Put("/days/rows.csv", text)
	if _, said, err := run("convert", "s3://days/rows.csv", "--out", "s3://songs/again", "--shards", "3"); err != nil {
		t.Fatal(err, said)
	}
	if a, b := s.Object("/songs/made/part-00001.tfrecords"), s.Object("/songs/again/part-00001.tfrecords"); string(a) != string(b) || len(a) == 0 {
		t.Errorf("rows of a store give %d bytes, those of a disk %d", len(b), len(a))
	}
	s.Delete("/songs/made/part-00001.tfrecords.millrace-index")
	out, said, err := run("index", "s3://songs/made")
	if want := "s3://songs/made: 3 files, 100 records"; err != nil || !strings.HasPrefix(out, want) || !strings.Contains(out, "1 indexed") {
		t.Errorf("got %s %s %v, want %s", out, said, err, want)
	}
	if s.Object("/songs/made/part-00001.tfrecords.millrace-index") == nil {
		t.Error("there is no index")
	}
	if _, said, err = run("convert", rows, "--out", "s3://songs/made"); err == nil || !strings.Contains(said, "there are objects below this URL") {
		t.Errorf("a second dataset: %v %s", err, said)
	}
	s.Fault = func(_ int, r *http.Request) (f remotetest.Fault) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "convert.json") {
			f = remotetest.Fault{Status: 403, Code: "AccessDenied"}
		}
		return f
	}
	_, said, err = run("convert", rows, "--out", "s3://songs/refused")
	if err == nil || !strings.Contains(said, "s3://songs/refused/convert.json: ") || !strings.Contains(said, "the credentials lack s3:PutObject") || strings.Contains(said, "very-secret") {
		t.Errorf("a bucket that is not writable: %v %s", err, said)
	}
	if s.Object("/songs/refused/__manifest__.json") != nil {
		t.Error("a dataset that was refused has a manifest")
	}
	s.Fault = nil
	out, said, err = run("convert", rows, "--out", "s3://songs/refused")
	if err != nil || !strings.Contains(out, "by an earlier run") {
		t.Errorf("the same command did not continue: %v %s %s", err, out, said)
	}
}

// A command reads a config in a bucket from within the sandbox as it reads a copy on the disk.
func TestCommandsReadStores(t *testing.T) {
	testruntime.Need(t)
	s, run := bucketOf(t)
	d := fixture.Points(t, 3, nil)
	d.Args["dataset"] = fixture.Object{"type": "dir", "args": fixture.Object{"data_dir": "data"}}
	d.Save(t)
	for _, name := range []string{"loader.json", "data/__manifest__.json", "data/a.tfrecords", "data/b.tfrecords", "data/c.tfrecords"} {
		text, err := os.ReadFile(filepath.Join(d.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s.Put("/songs/"+name, text)
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
