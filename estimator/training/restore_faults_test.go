package training

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/graph"
)

// A model's own checkpoint has no position, and it alone has the graph of objects.
func TestRestoreOfForeignCheckpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "linear")
	if err := os.CopyFS(dir, os.DirFS("../../testdata/models/linear")); err != nil {
		t.Fatal(err)
	}
	saved, err := graph.ReadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(dir, "variables", "variables")
	c, err := checkpoint.LoadPrefix(prefix)
	if err != nil {
		t.Fatal(err)
	}
	var e *millrace.Error
	if err := (&training{}).restorePosition(c); !errors.As(err, &e) || e.Class != millrace.ErrCheckpoint || e.File != prefix || !strings.Contains(e.Msg, "read the position in the data") {
		t.Errorf("a checkpoint without a position: %v", err)
	}
	u := &Subject{Saved: saved}
	if text, err := u.objectGraph(); err != nil || text == "" {
		t.Errorf("the graph of objects has %d bytes, %v", len(text), err)
	}
	if err := os.Remove(prefix + ".data-00000-of-00001"); err != nil {
		t.Fatal(err)
	}
	if _, err := u.objectGraph(); err == nil {
		t.Error("the graph of objects is read from nothing")
	}
}
