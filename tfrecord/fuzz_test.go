package tfrecord_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

var compressions = []tfrecord.Compression{tfrecord.None, tfrecord.GZIP, tfrecord.ZLIB}

func addFiles(f *testing.F) {
	file := corrupt.Frame(corrupt.Examples(3)...)
	for i, data := range [][]byte{file, corrupt.Gzip(file), corrupt.Zlib(file)} {
		f.Add(data, uint8(i))
	}
	f.Add(corrupt.Members(file, nil, file), uint8(1))
	f.Add(corrupt.Frame(nil, []byte("x"), nil), uint8(0))
	for _, c := range corrupt.Cases() {
		if len(c.Data) < 1000 {
			for i, kind := range compressions {
				if kind == tfrecord.Compression(c.Compression) {
					f.Add(c.Data, uint8(i))
				}
			}
		}
	}
}

// FuzzReader compares with the standard library and with package corrupt's framing: a
// file that was read to its end contains exactly the records that were read.
func FuzzReader(f *testing.F) {
	addFiles(f)
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		o := &tfrecord.ReaderOptions{Compression: compressions[int(kind)%len(compressions)], MaxRecordBytes: 1 << 20}
		records, err := readAll(data, o)
		plain, whole := inflate(data, o.Compression)
		if err == nil && (!whole || !bytes.Equal(corrupt.Frame(records...), plain)) {
			t.Fatalf("%d records and no error; the stream is whole: %v", len(records), whole)
		}
		var e *millrace.Error
		if err != nil && (!errors.As(err, &e) || e.File != "FILE" || e.Record >= 0 && e.Record != int64(len(records))) {
			t.Fatalf("after %d records %v", len(records), err)
		}
		if err != nil && whole && bytes.Equal(corrupt.Frame(records...), plain) {
			t.Fatalf("refused a whole file of %d records: %v", len(records), err)
		}
	})
}

// readAll reads all records of a file in memory.
func readAll(data []byte, o *tfrecord.ReaderOptions) ([][]byte, error) {
	r := tfrecord.NewReader(bytes.NewReader(data), "FILE", o)
	var records [][]byte
	for {
		b, err := r.Next()
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, bytes.Clone(b))
	}
}

// inflate decompresses with the standard library and reports whether the stream is
// complete and ends there.
func inflate(data []byte, c tfrecord.Compression) ([]byte, bool) {
	if c == tfrecord.None || len(data) == 0 {
		return data, true
	}
	in := bytes.NewReader(data)
	var z io.Reader
	var err error
	if c == tfrecord.GZIP {
		z, err = gzip.NewReader(in)
	} else {
		z, err = zlib.NewReader(in)
	}
	if err != nil {
		return nil, false
	}
	plain, err := io.ReadAll(io.LimitReader(z, 64<<20))
	if err != nil || in.Len() > 0 {
		return nil, false
	}
	return plain, true
}

// FuzzScan compares with the Reader: a scan finds the same faults as the Reader, except
// for the checksums of data.
func FuzzScan(f *testing.F) {
	addFiles(f)
	path := filepath.Join(f.TempDir(), "FILE")
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		o := &tfrecord.ReaderOptions{Compression: compressions[int(kind)%len(compressions)], MaxRecordBytes: 1 << 20}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		records, err := readAll(data, o)
		x, scanErr := tfrecord.Scan(t.Context(), path, o)
		switch {
		case err == nil && (scanErr != nil || x.Records != int64(len(records))):
			t.Fatalf("%d records; scan: %+v, %v", len(records), x, scanErr)
		case err != nil && scanErr == nil && x.Records <= int64(len(records)):
			t.Fatalf("%d records, %v; scan: %+v", len(records), err, x)
		}
	})
}
