package tfrecord_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

var update = flag.Bool("update", false, "rewrite golden files")

// drain reads all records of a reader. It returns their number and the error that ended
// it, nil at the end of the data.
func drain(tb testing.TB, r *tfrecord.Reader) (int64, error) {
	tb.Helper()
	for {
		_, err := r.Next()
		if err == nil {
			continue
		}
		if _, again := r.Next(); again != err {
			tb.Errorf("a call after %v gave %v", err, again)
		}
		if err == io.EOF {
			return r.Count(), nil
		}
		return r.Count(), err
	}
}

// write writes data to a new file and returns the path.
func write(tb testing.TB, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "data.tfrecords")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

// checkFault compares an error with the one that a case expects.
func checkFault(t *testing.T, c corrupt.Case, err error) {
	t.Helper()
	if c.Class == "" {
		if err != nil {
			t.Errorf("got %v, want no error", err)
		}
		return
	}
	var e *millrace.Error
	if !errors.As(err, &e) || !errors.Is(err, c.Class) {
		t.Fatalf("got %v, want an error of class %q", err, c.Class)
	}
	if e.Record != c.Record || e.Offset != c.Offset {
		t.Errorf("%v\n names record %d, offset %d; want %d, %d", err, e.Record, e.Offset, c.Record, c.Offset)
	}
	if !strings.Contains(err.Error(), c.Text) {
		t.Errorf("got %v\nwant something with %q", err, c.Text)
	}
}

func TestCases(t *testing.T) {
	var golden strings.Builder
	for _, c := range corrupt.Cases() {
		name := c.Row + " " + c.Name
		o := &tfrecord.ReaderOptions{Compression: tfrecord.Compression(c.Compression)}
		t.Run(name+"/file", func(t *testing.T) {
			path := write(t, c.Data)
			r, err := tfrecord.OpenFile(path, o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n, err := drain(t, r)
			if n != c.Good {
				t.Errorf("%d records, want %d", n, c.Good)
			}
			checkFault(t, c, err)
			if err != nil {
				fmt.Fprintf(&golden, "%s (%s)\n\t%s\n", name, o.Compression, strings.ReplaceAll(err.Error(), path, "FILE"))
			}
		})
		t.Run(name+"/scan", func(t *testing.T) {
			x, err := tfrecord.Scan(t.Context(), write(t, c.Data), o)
			c := c
			if c.InData {
				c.Class, c.Good = "", 10
			}
			checkFault(t, c, err)
			if err == nil && x.Records != c.Good {
				t.Errorf("%d records, want %d", x.Records, c.Good)
			}
		})
		t.Run(name+"/short reads", func(t *testing.T) {
			if len(c.Data) > 10_000 {
				t.Skip("large")
			}
			c := c
			for _, in := range []io.Reader{iotest.OneByteReader(bytes.NewReader(c.Data)), iotest.DataErrReader(bytes.NewReader(c.Data))} {
				n, err := drain(t, tfrecord.NewReader(in, "FILE", o))
				if n != c.Good {
					t.Errorf("%d records, want %d", n, c.Good)
				}
				c.Text = strings.ReplaceAll(c.Text, "7 remain, ", "") // the size is unknown here
				c.Text, _, _ = strings.Cut(c.Text, ", 7 remain")
				checkFault(t, c, err)
			}
		})
	}
	checkGolden(t, "testdata/faults.golden", golden.String())
}

// checkGolden compares text with a file; -update rewrites it.
func checkGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test -update rewrites it:\n%s", path, diff)
	}
}

// TestEveryCut cuts a file at every byte (row C09). Only a plain file that is cut
// between two records and an empty file read as complete; the number of records shows
// the cut.
func TestEveryCut(t *testing.T) {
	file := corrupt.File()
	for _, in := range []struct {
		compression tfrecord.Compression
		data        []byte
	}{
		{tfrecord.None, file},
		{tfrecord.GZIP, corrupt.Gzip(file)},
		{tfrecord.ZLIB, corrupt.Zlib(file)},
	} {
		o := &tfrecord.ReaderOptions{Compression: in.compression}
		for n := range in.data {
			data := corrupt.Cut(in.data, n)
			boundary := n == 0 || in.compression == tfrecord.None && n%57 == 0
			path := write(t, data)
			x, scanErr := tfrecord.Scan(t.Context(), path, o)
			count, err := drain(t, tfrecord.NewReader(bytes.NewReader(data), "FILE", o))
			if boundary {
				if err != nil || scanErr != nil || x.Records != count || count != int64(n/57) {
					t.Errorf("%s cut at %d: %d records, %v; scan: %v, %v", in.compression, n, count, err, x, scanErr)
				}
				continue
			}
			if !errors.Is(err, millrace.ErrTruncated) || !errors.Is(scanErr, millrace.ErrTruncated) {
				t.Errorf("%s cut at %d: %v; scan: %v", in.compression, n, err, scanErr)
			}
			var e *millrace.Error
			if errors.As(scanErr, &e) && e.Record >= 0 && e.Record != count {
				t.Errorf("%s cut at %d: scan names record %d, reader %d", in.compression, n, e.Record, count)
			}
		}
	}
}

// TestEveryFlip inverts every bit of a plain file (row C13).
func TestEveryFlip(t *testing.T) {
	file := corrupt.File()
	caught := 0
	for bit := range len(file) * 8 {
		data := corrupt.Flip(file, bit)
		n, err := drain(t, tfrecord.NewReader(bytes.NewReader(data), "FILE", &tfrecord.ReaderOptions{Size: int64(len(data))}))
		want := int64(bit / 8 / 57)
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrCorrupt || e.Record != want || e.Offset != want*57 || n != want {
			t.Errorf("bit %d: after %d records %v; want an error at record %d", bit, n, err, want)
			continue
		}
		caught++
	}
	if caught != 4560 {
		t.Errorf("%d flips caught of %d", caught, 4560)
	}
}

// TestEveryFlipCompressed inverts every bit of a compressed file (row C34):
// either the records are all there and unchanged, or there is an error.
func TestEveryFlipCompressed(t *testing.T) {
	file := corrupt.File()
	want := corrupt.Examples(10)
	for _, in := range []struct {
		compression tfrecord.Compression
		data        []byte
	}{{tfrecord.GZIP, corrupt.Gzip(file)}, {tfrecord.ZLIB, corrupt.Zlib(file)}} {
		harmless := 0
		for bit := range len(in.data) * 8 {
			r := tfrecord.NewReader(bytes.NewReader(corrupt.Flip(in.data, bit)), "FILE", &tfrecord.ReaderOptions{Compression: in.compression})
			var got [][]byte
			data, err := r.Next()
			for ; err == nil; data, err = r.Next() {
				got = append(got, bytes.Clone(data))
			}
			if len(got) > len(want) || !slices.EqualFunc(got, want[:len(got)], bytes.Equal) {
				t.Errorf("%s bit %d: wrong records", in.compression, bit)
			}
			if err != io.EOF {
				continue
			}
			harmless++
			if len(got) != len(want) {
				t.Errorf("%s bit %d: %d records and no error", in.compression, bit, len(got))
			}
		}
		if harmless > 64 { // time, system, level and text flag of a gzip header
			t.Errorf("%s: %d flips without an error", in.compression, harmless)
		}
	}
}
