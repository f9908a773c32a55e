package myreader

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	if _, err := tfbridge.LoadLibrary("./myreader.so"); err != nil {
		log.Fatal(err, "; millrace ops build makes it")
	}
	os.Exit(m.Run())
}

// file writes a file of records and returns its name.
func file(t *testing.T, records ...string) string {
	t.Helper()
	var b []byte
	for _, record := range records {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(record)))
		b = append(b, record...)
	}
	name := filepath.Join(t.TempDir(), "records")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// read returns the records of files.
func read(ctx context.Context, filenames ...string) ([]string, error) {
	s := graph.NewScope()
	defer s.Graph().Close()
	return dataset.ToSlice[string](ctx, Records(s, filenames...), nil)
}

func TestRecords(t *testing.T) {
	got, err := read(t.Context(), file(t, "one", "", "three"), file(t), file(t, "four"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "[one  three four]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// An error says in which file, at which record and where that begins.
func TestTruncated(t *testing.T) {
	whole, cut := file(t, "one", "two"), file(t, "one", "two")
	if err := os.Truncate(cut, 12); err != nil {
		t.Fatal(err)
	}
	_, err := read(t.Context(), whole, cut)
	var e *millrace.Error
	if !errors.As(err, &e) || e.Class != millrace.ErrTruncated || e.File != cut || e.Record != 1 || e.Offset != 7 {
		t.Errorf("got %v, want an error about record 1 of %s", err, cut)
	}
}

// A restored iterator goes on where the saved one was.
func TestSavedState(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	it := Records(s, file(t, "one", "two"), file(t, "three", "four")).Iterator("it")
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	first, second := session(t, s, it), session(t, s, it)
	for _, want := range []string{"one", "two", "three"} {
		if got := next(t, first, it); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	state, err := it.SaveState(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := it.RestoreState(t.Context(), second, state); err != nil {
		t.Fatal(err)
	}
	if got := next(t, second, it); got != "four" {
		t.Errorf("after the restore: got %q, want four", got)
	}
}

// session returns a session with an iterator of its own.
func session(t *testing.T, s *graph.Scope, it *dataset.Iterator) *tfbridge.Session {
	t.Helper()
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		t.Fatal(err)
	}
	return sess
}

// next returns the next record.
func next(t *testing.T, sess *tfbridge.Session, it *dataset.Iterator) string {
	t.Helper()
	got, err := sess.Run(nil, it.Element, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got[0].Close()
	return got[0].Value().(string)
}
