package tfrecord_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

// TestOtherFiles opens paths that are not regular files (row C02) or cannot be opened
// (C01, C03). Opening must not block, even for a FIFO without a writer.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(dir, "s")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path, text string
		is               error
	}{
		{"missing", filepath.Join(dir, "none"), "no such file", fs.ErrNotExist},
		{"loop", loop, "too many levels of symbolic links", syscall.ELOOP},
		{"below a file", filepath.Join(write(t, nil), "x"), "not a directory", syscall.ENOTDIR},
		{"directory", dir, "not a regular file but a directory", nil},
		{"FIFO", fifo, "not a regular file but a FIFO", nil},
		{"socket", sock, "not a regular file but a socket", nil},
		{"device", "/dev/null", "not a regular file but a device", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, openErr := tfrecord.OpenFile(tt.path, nil)
			_, scanErr := tfrecord.Scan(t.Context(), tt.path, nil)
			for _, err := range []error{openErr, scanErr} {
				if !errors.Is(err, millrace.ErrIO) || !strings.HasPrefix(err.Error(), tt.path+": ") || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v, want an i/o error with %q", err, tt.text)
				}
				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("%v is not %v", err, tt.is)
				}
				if strings.Count(err.Error(), tt.path) != 1 {
					t.Errorf("%v names the path more than once", err)
				}
			}
		})
	}
}

func TestPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := write(t, corrupt.File())
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := tfrecord.Scan(t.Context(), path, nil); !errors.Is(err, millrace.ErrIO) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

// TestReadError makes every read fail in the operating system (row C41).
func TestReadError(t *testing.T) {
	file := corrupt.File()
	for _, in := range []struct {
		compression tfrecord.Compression
		data        []byte
	}{{tfrecord.None, file}, {tfrecord.GZIP, corrupt.Gzip(file)}, {tfrecord.ZLIB, corrupt.Zlib(file)}} {
		for n := range in.data {
			r := io.MultiReader(bytes.NewReader(in.data[:n]), iotest.ErrReader(syscall.EIO))
			_, err := drain(t, tfrecord.NewReader(r, "FILE", &tfrecord.ReaderOptions{Compression: in.compression}))
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != millrace.ErrIO || !errors.Is(err, syscall.EIO) || e.File != "FILE" || e.Record < 0 {
				t.Fatalf("%s: read error after %d bytes: got %v", in.compression, n, err)
			}
		}
	}
}

// TestChangedWhileRead changes a file under a reader (row C43).
func TestChangedWhileRead(t *testing.T) {
	file := corrupt.Frame(bytes.Repeat([]byte("x"), 300_000), []byte("second"), bytes.Repeat([]byte("y"), 300_000))
	tests := []struct {
		name   string
		change func(path string) error
	}{
		{"grows", func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(corrupt.Frame([]byte("more")))
			return errors.Join(err, f.Close())
		}},
		{"shrinks", func(path string) error { return os.Truncate(path, 400_000) }},
		{"touched", func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, file)
			r, err := tfrecord.OpenFile(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(path); err != nil {
				t.Fatal(err)
			}
			_, err = drain(t, r)
			if !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "changed during read") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestIndexChanged(t *testing.T) {
	path := write(t, corrupt.File())
	x, err := tfrecord.Scan(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if x.Records != 10 || x.DataBytes != 410 || x.MaxRecord != 41 || x.Size != 570 || x.Inode == 0 {
		t.Errorf("got %+v", x)
	}
	if err := x.Changed(); err != nil {
		t.Error(err)
	}
	other := write(t, corrupt.File())
	if err := os.Chtimes(other, x.ModTime, x.ModTime); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if err := x.Changed(); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("replaced: got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := x.Changed(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: got %v", err)
	}
}

func TestOptions(t *testing.T) {
	o := &tfrecord.ReaderOptions{Compression: "GZIP"} // TensorFlow's spelling
	_, err := tfrecord.NewReader(strings.NewReader(""), "FILE", o).Next()
	_, openErr := tfrecord.OpenFile(write(t, nil), o)
	_, scanErr := tfrecord.Scan(t.Context(), write(t, nil), o)
	_, allErr := tfrecord.ScanAll(t.Context(), nil, &tfrecord.ScanAllOptions{ReaderOptions: *o})
	for _, err := range []error{err, openErr, scanErr, allErr, tfrecord.NewWriter(io.Discard, "GZIP").Write(nil)} {
		if !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), `"GZIP"; want "gzip"`) {
			t.Errorf("got %v", err)
		}
	}
}

func TestCloseTwice(t *testing.T) {
	r, err := tfrecord.OpenFile(write(t, corrupt.File()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestScanCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []tfrecord.Compression{tfrecord.None, tfrecord.GZIP} {
		_, err := tfrecord.Scan(ctx, write(t, nil), &tfrecord.ReaderOptions{Compression: c})
		if !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}
