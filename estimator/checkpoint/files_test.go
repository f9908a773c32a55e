package checkpoint

import (
	"errors"
	"math"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"millrace"
)

// A disk without enough room is found before anything is written, with how much
// is needed and free (F05).
func TestSpace(t *testing.T) {
	dir := t.TempDir()
	if err := checkSpace(dir, 1); err != nil {
		t.Error(err)
	}
	err := checkSpace(dir, math.MaxInt64)
	if !errors.Is(err, millrace.ErrCheckpoint) || !errors.Is(err, millrace.ErrIO) || !errors.Is(err, unix.ENOSPC) ||
		!strings.Contains(err.Error(), "needs 9223372036854775807 bytes") {
		t.Errorf("got %v", err)
	}
}

// The file that names the newest checkpoint is TensorFlow's.
func TestMarker(t *testing.T) {
	dir := t.TempDir()
	if _, ok := markedStep(dir); ok {
		t.Error("a step is marked where there is no file")
	}
	if err := (&Store{dir: dir}).writeMarker([]int64{5, 20}); err != nil {
		t.Fatal(err)
	}
	if step, ok := markedStep(dir); !ok || step != 20 {
		t.Errorf("step %d, %v", step, ok)
	}
	if prefix, err := Resolve(dir); err != nil || prefix != dir+"/ckpt-20" {
		t.Errorf("the folder means %q, %v", prefix, err)
	}
}
