package loaders_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/oplibrary"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// writeRAM writes a file into TensorFlow's file system in memory, which only
// TensorFlow can see.
func writeRAM(t *testing.T, path string, content []byte) {
	t.Helper()
	s := graph.NewScope()
	write := s.AddOperation(tfbridge.OpSpec{Type: "WriteFile", Input: []tfbridge.Input{s.Const(path), s.Const(string(content))}})
	g, err := s.Finalize()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	sess, err := tfbridge.NewSession(g, &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{write}); err != nil {
		t.Fatal(err)
	}
}

// remoteDataset lists remote paths.
func remoteDataset(t *testing.T, paths ...string) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	list := d.Dir + "/files.txt"
	if err := os.WriteFile(list, []byte(strings.Join(paths, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	d.Args["dataset"] = fixture.Object{"type": "list", "args": fixture.Object{"manifest_file": d.Path("__manifest__.json"), "list_file": list}}
	return d
}

// readRemote returns the error that ends the reading of a dataset. Without our own
// operations it must end before anything is read, and the error has the first remote
// file and the remedy.
func readRemote(t *testing.T, d *fixture.Dataset) (ids []int64, err error) {
	t.Helper()
	plan := withoutLibrary(t, d)
	_, refused := readPlan(t, plan)
	var e *millrace.Error
	if !errors.As(refused, &e) || e.Class != millrace.ErrRuntime || e.File == "" || !strings.Contains(e.Msg, oplibrary.Remedy) {
		t.Errorf("without our operations: %v", refused)
	}
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	if plan.NativeLibrary == "" {
		t.Skip("the native library is not built")
	}
	return readPlan(t, plan)
}

// TensorFlow opens a path with a scheme, and the errors that it finds there are
// reported with their class.
func TestRemoteFiles(t *testing.T) {
	testruntime.Need(t)
	file := corrupt.Frame(fixture.Records(0, 5)...)
	writeRAM(t, "ram://d/good", file)
	ids, err := readRemote(t, remoteDataset(t, "ram://d/good"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(count(5), ids); diff != "" {
		t.Errorf("ids (-want +got)\n%s", diff)
	}
	writeRAM(t, "ram://d/flipped", corrupt.Flip(file, 8*(len(file)-1)))
	tests := []struct {
		name  string
		paths []string
		class millrace.Class
		want  string // words of the error
	}{
		{"a flipped bit", []string{"ram://d/flipped"}, millrace.ErrCorrupt, "ram://d/flipped: record 4 (offset "},
		{"no such file", []string{"ram://d/nothing"}, millrace.ErrIO, "ram://d/nothing"},
		{"one of two", []string{"ram://d/good", "ram://d/nothing"}, millrace.ErrIO, "ram://d/nothing"},
	}
	for _, tt := range tests {
		_, err := readRemote(t, remoteDataset(t, tt.paths...))
		if !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	d := remoteDataset(t, "ram://a", "gs://b/c")
	d.Save(t)
	p, problems := loaders.Check(d.Config(), nil)
	if p == nil || len(p.Warnings) != 1 || !strings.Contains(problems.Error(), "remote files are not looked at beforehand") {
		t.Errorf("warnings: %v", problems)
	}
}

// A server that cannot be reached is an i/o error, exit code 7. A name under .invalid
// never resolves, so the test needs no network.
func TestUnreachableServer(t *testing.T) {
	testruntime.Need(t)
	for key, value := range map[string]string{
		"https_proxy": "http://proxy.invalid:1", "no_proxy": "", "NO_PROXY": "", // libcurl reads them
		"NO_GCE_CHECK": "true", "GCS_RETRY_CONFIG_MAX_RETRIES": "0", // TensorFlow reads them
	} {
		t.Setenv(key, value)
	}
	_, err := readRemote(t, remoteDataset(t, "gs://bucket/songs.tfrecords"))
	if !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "gs://bucket/songs.tfrecords") {
		t.Errorf("got %v, want an i/o error that names the file", err)
	}
}
