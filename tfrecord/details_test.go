package tfrecord_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

// The error about a missing file names it once, with the operation, and without a
// record.
func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.tfrecords")
	_, openErr := tfrecord.OpenFile(path, nil)
	_, scanErr := tfrecord.Scan(t.Context(), path, nil)
	for _, err := range []error{openErr, scanErr} {
		var e *millrace.Error
		if !errors.As(err, &e) || !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got %v", err)
		}
		got := []any{e.Class, e.Op, e.File, e.Record, e.Offset, strings.Count(e.Error(), path)}
		if diff := cmp.Diff([]any{millrace.ErrIO, "open", path, int64(-1), int64(-1), 1}, got); diff != "" {
			t.Errorf("%v: class, operation, file, record, offset and paths in the text (-want +got)\n%s", err, diff)
		}
	}
}

// An index describes the scanned file, and its error names the file that changed.
func TestIndexFields(t *testing.T) {
	path := write(t, corrupt.Gzip(corrupt.File()))
	x, err := tfrecord.Scan(t.Context(), path, &tfrecord.ReaderOptions{Compression: tfrecord.GZIP})
	if err != nil {
		t.Fatal(err)
	}
	if x.Path != path || x.Compression != tfrecord.GZIP || x.ModTime.IsZero() {
		t.Errorf("got %+v", x)
	}
	truncate(t, path)
	var e *millrace.Error
	if err := x.Changed(); !errors.As(err, &e) || e.Op != "read" || e.File != path {
		t.Errorf("changed: got %+v", e)
	}
}

// A limit is printed in a unit in which it is a whole number.
func TestLimitText(t *testing.T) {
	for limit, want := range map[int64]string{
		1000: "cap 1000 bytes", 1 << 10: "cap 1 KiB", 1<<10 + 1: "cap 1025 bytes", 3 << 9: "cap 1536 bytes",
		1 << 20: "cap 1 MiB", 1<<20 + 1<<10: "cap 1025 KiB", 5 << 20: "cap 5 MiB",
	} {
		r := tfrecord.NewReader(bytes.NewReader(corrupt.Header(1<<30)), "FILE", &tfrecord.ReaderOptions{MaxRecordBytes: limit})
		if _, err := r.Next(); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("limit %d: %v, want %q", limit, err, want)
		}
	}
}

// At does not change a known location. The first record is record 0.
func TestAtKeepsPlaces(t *testing.T) {
	rec := tfrecord.Record{Ordinal: 7, Offset: 700}
	tests := []struct{ err, want *millrace.Error }{
		{&millrace.Error{Record: -1, Offset: -1}, &millrace.Error{File: "FILE", Record: 7, Offset: 700}},
		{&millrace.Error{File: "OTHER", Record: 0, Offset: 3}, &millrace.Error{File: "OTHER", Record: 0, Offset: 3}},
	}
	for _, tt := range tests {
		got := tfrecord.At(tt.err, "FILE", rec).(*millrace.Error)
		if got.File != tt.want.File || got.Record != tt.want.Record || got.Offset != tt.want.Offset {
			t.Errorf("At(%+v)\n got %+v\nwant %+v", tt.err, got, tt.want)
		}
	}
	if err := tfrecord.At(io.EOF, "FILE", rec); err != io.EOF {
		t.Errorf("another error became %v", err)
	}
	var e *millrace.Error
	_, err := tfrecord.NewReader(strings.NewReader(""), "FILE", &tfrecord.ReaderOptions{Compression: "bz2"}).Next()
	if !errors.As(err, &e) || e.File != "FILE" {
		t.Errorf("unknown compression: %+v", e)
	}
}

// The header of a gzip member: reserved flags, a flag that means nothing, and a field
// of the maximum length.
func TestGzipFlags(t *testing.T) {
	plain := corrupt.Gzip(corrupt.File())
	o := &tfrecord.ReaderOptions{Compression: tfrecord.GZIP}
	header := func(flags byte, fields string) []byte {
		data := append(bytes.Clone(plain[:10]), fields...)
		data[3] = flags
		return append(data, plain[10:]...)
	}
	for name, data := range map[string][]byte{
		"text flag":     header(1, ""),
		"long extra":    header(4, "\x02\x01"+strings.Repeat("e", 0x102)),
		"one byte over": header(4, "\x00\x01"+strings.Repeat("e", 0x100)),
	} {
		if n, err := drain(t, tfrecord.NewReader(bytes.NewReader(data), "FILE", o)); n != 10 || err != nil {
			t.Errorf("%s: %d records, %v", name, n, err)
		}
	}
	for _, flag := range []byte{0x20, 0x40, 0x80} {
		_, err := drain(t, tfrecord.NewReader(bytes.NewReader(header(flag, "")), "FILE", o))
		if !errors.Is(err, millrace.ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprintf("reserved flags %#02x", flag)) {
			t.Errorf("flag %#x: %v", flag, err)
		}
	}
}

// The checksum of a gzip header covers the header's bytes.
func TestGzipHeaderChecksum(t *testing.T) {
	plain := corrupt.Gzip(corrupt.File())
	head := append(bytes.Clone(plain[:10]), "name\x00"...)
	head[3] = 2 | 8
	sum := uint16(crc32.ChecksumIEEE(head))
	for _, tt := range []struct {
		sum  uint16
		want millrace.Class
	}{{sum, ""}, {sum + 1, millrace.ErrCorrupt}, {sum + 1<<8, millrace.ErrCorrupt}} {
		data := append(binary.LittleEndian.AppendUint16(bytes.Clone(head), tt.sum), plain[10:]...)
		n, err := drain(t, tfrecord.NewReader(bytes.NewReader(data), "FILE", &tfrecord.ReaderOptions{Compression: tfrecord.GZIP}))
		if tt.want == "" && (n != 10 || err != nil) || tt.want != "" && !errors.Is(err, tt.want) {
			t.Errorf("checksum %04x, of the header %04x: %d records, %v", tt.sum, sum, n, err)
		}
	}
}

// The error about a stream that ends early has the number of complete records.
func TestCutStreamSaysWhere(t *testing.T) {
	whole := corrupt.Gzip(corrupt.Frame(corrupt.Example(0)))
	for n, want := range map[int]string{len(whole) - 1: "after record 0", 12: "before the first record is whole"} {
		_, err := drain(t, tfrecord.NewReader(bytes.NewReader(whole[:n]), "FILE", &tfrecord.ReaderOptions{Compression: tfrecord.GZIP}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cut at %d: %v, want %q", n, err, want)
		}
	}
}

// Text is quoted as text, including white space of every kind.
func TestTextIsRecognized(t *testing.T) {
	for text, want := range map[string]string{
		"page one\f\r\n\tpage two": "looks like text",
		"page one\x01 page two":    "length checksum: stored",
		strings.Repeat(" \n", 10):  "length checksum: stored",
		"page one\x7f page two":    "length checksum: stored",
	} {
		_, err := tfrecord.NewReader(strings.NewReader(text), "FILE", nil).Next()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// filling is a disk with n bytes left.
type filling struct{ left int }

func (f *filling) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

// The disk may be full only at the last bytes of a file.
func TestWriterFailsAtTheEnd(t *testing.T) {
	for _, c := range []tfrecord.Compression{tfrecord.None, tfrecord.GZIP, tfrecord.ZLIB} {
		var whole bytes.Buffer
		w := tfrecord.NewWriter(&whole, c)
		if err := errors.Join(w.Write(corrupt.Example(0)), w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		w = tfrecord.NewWriter(&filling{whole.Len() - 1}, c)
		err := errors.Join(w.Write(corrupt.Example(0)), w.Close())
		if !errors.Is(err, millrace.ErrIO) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: got %v", c, err)
		}
		if again := w.Close(); again == nil {
			t.Errorf("%s: closed without an error after one", c)
		}
	}
}

// truncate cuts a file in half.
func truncate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}
