package tfrecord_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

// asked is a context that calls a function when Err is called for the nth time, to
// change a file during a scan.
type asked struct {
	context.Context
	n     int
	event func() error
}

func (a *asked) Err() error {
	if a.n--; a.n == 0 {
		return a.event()
	}
	return a.Context.Err()
}

// A scan that is canceled, or whose file changes, half way returns no index.
func TestScanInterrupted(t *testing.T) {
	file := corrupt.Frame(bytes.Repeat([]byte("x"), 300_000), []byte("second"), bytes.Repeat([]byte("y"), 300_000))
	for c, data := range map[tfrecord.Compression][]byte{tfrecord.None: file, tfrecord.GZIP: corrupt.Gzip(file)} {
		path := write(t, data)
		o := &tfrecord.ReaderOptions{Compression: c}
		cancel := func() error { return context.Canceled }
		if x, err := tfrecord.Scan(&asked{t.Context(), 2, cancel}, path, o); x != nil || !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("%s, canceled: got %v, %v", c, x, err)
		}
		grow := func() error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write(make([]byte, 5))
			return err
		}
		x, err := tfrecord.Scan(&asked{t.Context(), 2, grow}, path, o)
		if x != nil || !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "changed during read (size") {
			t.Errorf("%s, grown: got %v, %v", c, x, err)
		}
	}
}

// A file that shrinks while its headers are read is reported as truncated and changed.
func TestScanShrinks(t *testing.T) {
	path := write(t, corrupt.Frame(bytes.Repeat([]byte("x"), 300_000), []byte("second")))
	shrink := func() error { return os.Truncate(path, 300_020) }
	_, err := tfrecord.Scan(&asked{t.Context(), 3, shrink}, path, nil)
	var e *millrace.Error
	if !errors.As(err, &e) || e.File != path || !strings.Contains(e.Msg, "changed during read (size 300038 -> 300020)") ||
		!strings.Contains(e.Msg, "4 of 12 header bytes") {
		t.Errorf("got %v", err)
	}
}

// Records yields the error of a file that cannot be opened, once, without a location.
func TestRecordsOfMissingFile(t *testing.T) {
	n := 0
	for rec, err := range tfrecord.Records(filepath.Join(t.TempDir(), "none"), nil) {
		n++
		if !errors.Is(err, fs.ErrNotExist) || rec.Ordinal != -1 || rec.Offset != -1 || rec.Data != nil {
			t.Errorf("got %+v, %v", rec, err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}
