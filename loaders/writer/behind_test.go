package writer

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// All bytes are in the file after Close, in their order, whatever the sizes of the writes
// and of the file are.
func TestBehind(t *testing.T) {
	for _, size := range []int{0, 1, pieceBytes, pieceBytes + 1, diskBytes + 3*pieceBytes + 5} {
		file, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i ^ i>>8 ^ i>>16)
		}
		b := newBehind(file)
		for left, n := want, 1; len(left) > 0; n = n*3 + 1 {
			n = min(n, len(left))
			if got, err := b.Write(left[:n]); got != n || err != nil {
				t.Fatalf("%d bytes: wrote %d, %v", n, got, err)
			}
			left = left[n:]
		}
		if err := errors.Join(b.Close(), b.Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file.Name()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d are in the file, or others (%v)", size, len(got), err)
		}
	}
}

// A failed write is an error of a later call, and neither Write nor Close waits
// forever.
func TestBehindFails(t *testing.T) {
	for _, n := range []int{1, pieceBytes, 100 * pieceBytes} {
		file, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		b := newBehind(file)
		_, err = b.Write(make([]byte, n))
		closed := b.Close()
		if !errors.Is(closed, fs.ErrClosed) {
			t.Errorf("%d bytes: closing gave %v, want that the file is closed", n, closed)
		}
		if n > 2*pieces*pieceBytes && !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%d bytes: writing gave %v, want that the file is closed", n, err)
		}
	}
}
