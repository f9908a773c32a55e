package reader_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// fileNames are the components of a queue of file names.
var fileNames = []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}

// writeRecords writes a TFRecord file of n records and returns its path.
func writeRecords(t testing.TB, name string, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tfrecord.NewWriter(f, tfrecord.None)
	for i := range n {
		if err := w.Write(fmt.Appendf(nil, "%s %d", name, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Read goes through the files that the queue names, and ends when the queue is
// closed and empty.
func TestReadTFRecord(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	paths := []string{writeRecords(t, "one", 2), writeRecords(t, "two", 1)}
	files := queue.NewFIFO(s, 10, fileNames, nil)
	enqueue, end := files.EnqueueMany(s, s.Const(paths)), files.Close(s, false)
	_, value := reader.NewTFRecord(s, nil).Read(s, files)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, op := range []*tfbridge.Operation{enqueue, end} {
		if _, err := session.Run(nil, nil, []*tfbridge.Operation{op}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"one 0", "one 1", "two 0"} {
		out, err := session.Run(nil, []tfbridge.Output{value}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := out[0].Value(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		out[0].Close()
	}
	if _, err := session.Run(nil, []tfbridge.Output{value}, nil); !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("after the last record: got %v, want code OutOfRange", err)
	}
}
