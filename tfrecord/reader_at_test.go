package tfrecord_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

// rewrite changes a file in place and keeps its modification time.
func rewrite(t *testing.T, path string, data []byte) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func scanLayout(t *testing.T, path string) *tfrecord.Index {
	t.Helper()
	found, err := tfrecord.ScanAll(t.Context(), []string{path}, &tfrecord.ScanAllOptions{Layout: true})
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// Records can be read in any order. A record that does not match the layout is an error
// with its location, and the records around it can still be read.
func TestReaderAt(t *testing.T) {
	records := [][]byte{[]byte("zero"), {}, []byte("second"), bytes.Repeat([]byte("3"), 5000), []byte("four")}
	file := corrupt.Frame(records...)
	path := write(t, file)
	x := scanLayout(t, path)
	damage := func(at int) []byte {
		b := bytes.Clone(file)
		b[at] ^= 1
		return b
	}
	second := int(x.Layout.Offset(2))
	other := corrupt.Frame(records[0], nil, []byte("sec"), bytes.Repeat([]byte("3"), 5003), records[4])
	for _, tt := range []struct {
		name string
		data []byte
		want string // error of record 2; "" for no error
		last bool   // whether record 4 can be read
	}{
		{"whole", file, "", true},
		{"length", damage(second), "length checksum", true},
		{"data", damage(second + 12), "data checksum", true},
		{"other records", other, "the record has 3 bytes, the index says 6", true},
	} {
		rewrite(t, path, tt.data)
		r, err := tfrecord.OpenAt(x)
		if err != nil {
			t.Fatal(err)
		}
		var buf []byte
		for _, i := range []int64{4, 0, 3, 1, 0} {
			if i == 3 && tt.name == "other records" {
				continue
			}
			if buf, err = r.ReadRecord(i, buf); err != nil || !bytes.Equal(buf, records[i]) {
				t.Errorf("%s: record %d: %q, %v", tt.name, i, buf, err)
			}
		}
		_, err = r.ReadRecord(2, nil)
		var e *millrace.Error
		switch {
		case tt.want == "" && err == nil:
		case !errors.As(err, &e) || e.Class != millrace.ErrCorrupt || e.Record != 2 || e.Offset != int64(second) || e.File != path || !strings.Contains(e.Msg, tt.want):
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A file that is replaced before or while it is open is reported as changed.
func TestReaderAtChanged(t *testing.T) {
	path := write(t, corrupt.Frame([]byte("one"), []byte("two")))
	x := scanLayout(t, path)
	r, err := tfrecord.OpenAt(x)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(path, 25); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadRecord(1, nil); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "changed since it was scanned") {
		t.Errorf("cut while open: %v", err)
	}
	if r, err := tfrecord.OpenAt(x); !errors.Is(err, millrace.ErrIO) || r != nil {
		t.Errorf("cut before: %v", err)
	}
	gzip := write(t, corrupt.Gzip(corrupt.Frame([]byte("one"))))
	packed, err := tfrecord.Scan(t.Context(), gzip, &tfrecord.ReaderOptions{Compression: tfrecord.GZIP})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tfrecord.OpenAt(packed); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("a compressed file: %v", err)
	}
}
