package myreader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// row returns a record of a label and a text.
func row(label int64, text string) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(label))) + text
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

// read returns the rows of files.
func read(t *testing.T, filenames ...string) ([]Row, error) {
	s := graph.NewScope()
	defer s.Graph().Close()
	return dataset.ToSlice[Row](t.Context(), Dataset(s, filenames...), nil)
}

func TestRows(t *testing.T) {
	got, err := read(t, file(t, row(1, "one"), row(-2, "")), file(t), file(t, row(3, "three")))
	if want := "[{1 one} {-2 } {3 three}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
}

// An error says in which file, at which record and where that begins.
func TestTruncated(t *testing.T) {
	whole, cut := file(t, row(1, "one")), file(t, row(1, "one"), row(2, "two"))
	if err := os.Truncate(cut, 20); err != nil {
		t.Fatal(err)
	}
	_, err := read(t, whole, cut)
	var e *millrace.Error
	if !errors.As(err, &e) || e.Class != millrace.ErrTruncated || e.File != cut || e.Record != 1 || e.Offset != 15 {
		t.Errorf("got %v, want an error about record 1 of %s", err, cut)
	}
}

// A record that is no row fails with its key.
func TestDamagedRecord(t *testing.T) {
	name := file(t, row(1, "one"), "short")
	_, err := read(t, name)
	if want := "key " + name + ":1: 5 bytes, want at least 8"; !errors.Is(err, millrace.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

// A restored iterator goes on where the saved one was.
func TestSavedState(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	it := Dataset(s, file(t, row(1, "one"), row(2, "two")), file(t, row(3, "three"), row(4, "four"))).Iterator("it")
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	first, second := session(t, s, it), session(t, s, it)
	for want := range int64(3) {
		if got := label(t, first, it); got != want+1 {
			t.Errorf("got %d, want %d", got, want+1)
		}
	}
	state, err := it.SaveState(t.Context(), first)
	if err := errors.Join(err, it.RestoreState(t.Context(), second, state)); err != nil {
		t.Fatal(err)
	}
	if got := label(t, second, it); got != 4 {
		t.Errorf("after the restore: got %d, want 4", got)
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

// label returns the label of the next row.
func label(t *testing.T, sess *tfbridge.Session, it *dataset.Iterator) int64 {
	t.Helper()
	got, err := sess.Run(nil, it.Element[:1], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got[0].Close()
	return got[0].Value().(int64)
}
