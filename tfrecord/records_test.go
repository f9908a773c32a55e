package tfrecord_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

func ExampleRecords() {
	for rec, err := range tfrecord.Records("testdata/three.tfrecords", nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d at %d: %s\n", rec.Ordinal, rec.Offset, rec.Data)
	}
	// Output:
	// 0 at 0: one
	// 1 at 19: two
	// 2 at 38: three
}

func ExampleReader() {
	whole, err := os.ReadFile("testdata/three.tfrecords")
	if err != nil {
		log.Fatal(err)
	}
	r := tfrecord.NewReader(bytes.NewReader(whole[:45]), "three.tfrecords", nil)
	for {
		data, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%s\n", data)
	}
	// Output:
	// one
	// two
	// three.tfrecords: record 2 (offset 38): file is truncated inside a record header: 7 of 12 header bytes
}

func ExampleWriter() {
	var file bytes.Buffer
	w := tfrecord.NewWriter(&file, tfrecord.None)
	for _, record := range []string{"one", "two", "three"} {
		if err := w.Write([]byte(record)); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Count(), "records,", file.Len(), "bytes")
	// Output: 3 records, 59 bytes
}

func TestFind(t *testing.T) {
	path := write(t, corrupt.File())
	at := func(n int64, err error) error {
		return tfrecord.Find(path, nil, func(r tfrecord.Record) error {
			if r.Ordinal == n {
				return err
			}
			return nil
		})
	}
	if err := at(-1, nil); err != nil {
		t.Error(err)
	}
	e := millrace.Errorf(millrace.ErrSchema, "has 3 values, want 4")
	e.Feature = "x"
	if err, want := at(7, e), path+`: record 7 (offset 399): feature "x": has 3 values, want 4`; err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if e.Record != -1 || e.File != "" {
		t.Error("the visitor's error was changed")
	}
	other := errors.New("other")
	if err := at(7, other); err != other {
		t.Errorf("got %v", err)
	}
	cut := write(t, corrupt.Cut(corrupt.File(), 300))
	if err := tfrecord.Find(cut, nil, func(tfrecord.Record) error { return nil }); !errors.Is(err, millrace.ErrTruncated) {
		t.Errorf("got %v", err)
	}
}

// TestRecordsStop leaves the loop early, then ranges again.
func TestRecordsStop(t *testing.T) {
	records := tfrecord.Records(write(t, corrupt.File()), nil)
	for range 2 {
		for rec, err := range records {
			if err != nil || rec.Ordinal != 0 {
				t.Errorf("got %v, %v", rec, err)
			}
			break
		}
	}
}

// TestRoundTrip writes random records and reads them back.
func TestRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, c := range []tfrecord.Compression{tfrecord.None, tfrecord.GZIP, tfrecord.ZLIB} {
		for range 20 {
			var want [][]byte
			var file bytes.Buffer
			w := tfrecord.NewWriter(&file, c)
			for range rnd.IntN(50) {
				record := make([]byte, rnd.IntN(1<<rnd.IntN(18)))
				for i := range record {
					record[i] = byte(rnd.Uint32() & 0x1f)
				}
				want = append(want, record)
				if err := w.Write(record); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.Close(), w.Close()); err != nil {
				t.Fatal(err)
			}
			if c == tfrecord.None && !bytes.Equal(file.Bytes(), corrupt.Frame(want...)) {
				t.Error("the file is framed otherwise than in package corrupt")
			}
			var got [][]byte
			for rec, err := range tfrecord.Records(write(t, file.Bytes()), &tfrecord.ReaderOptions{Compression: c}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, bytes.Clone(rec.Data))
			}
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%s: read other records than were written", c)
			}
		}
	}
}

func TestWriterFails(t *testing.T) {
	for _, c := range []tfrecord.Compression{tfrecord.None, tfrecord.GZIP, tfrecord.ZLIB} {
		w := tfrecord.NewWriter(failing{}, c)
		err := w.Write(bytes.Repeat([]byte("0123456789abcdef"), 1<<16))
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, millrace.ErrIO) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: got %v", c, err)
		}
		if again := w.Write(nil); again != err {
			t.Errorf("%s: a later write gave %v", c, again)
		}
	}
	w := tfrecord.NewWriter(io.Discard, tfrecord.None)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Write(nil); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestScanAll(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 100 {
		path := filepath.Join(dir, fmt.Sprintf("%03d.tfrecords", i))
		if err := os.WriteFile(path, corrupt.Frame(corrupt.Examples(i)...), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for _, parallel := range []int{0, 1, 7, 1000} {
		all, err := tfrecord.ScanAll(t.Context(), paths, &tfrecord.ScanAllOptions{Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range all {
			if x.Path != paths[i] || x.Records != int64(i) {
				t.Errorf("index %d is %+v", i, x)
			}
		}
	}
	for _, i := range []int{90, 31, 77} {
		if err := os.Truncate(paths[i], 50); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		_, err := tfrecord.ScanAll(t.Context(), paths, &tfrecord.ScanAllOptions{Parallel: 8})
		if err == nil || !strings.HasPrefix(err.Error(), paths[31]) {
			t.Errorf("first fault: got %v", err)
		}
	}
	all, err := tfrecord.ScanAll(t.Context(), paths, &tfrecord.ScanAllOptions{AllFaults: true})
	if err == nil || strings.Count(err.Error(), "\n") != 2 || !errors.Is(err, millrace.ErrTruncated) {
		t.Errorf("all faults: got %v", err)
	}
	if all[31] != nil || all[32] == nil || all[99].Records != 99 {
		t.Error("all faults: wrong indexes")
	}
	if none, err := tfrecord.ScanAll(t.Context(), nil, nil); len(none) != 0 || err != nil {
		t.Errorf("no files: got %v, %v", none, err)
	}
}

// TestFewDescriptors scans 500 files when only 64 may be open (row C47).
func TestFewDescriptors(t *testing.T) {
	path := write(t, corrupt.File())
	paths := make([]string, 500)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s.%d", path, i)
		if err := os.Link(path, paths[i]); err != nil {
			t.Fatal(err)
		}
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	all, err := tfrecord.ScanAll(t.Context(), paths, &tfrecord.ScanAllOptions{Parallel: 16})
	if err != nil || all[499].Records != 10 {
		t.Error(err)
	}
}

func TestCompression(t *testing.T) {
	for c, want := range map[tfrecord.Compression][2]string{
		tfrecord.None: {"none", ""}, tfrecord.GZIP: {"gzip", "GZIP"}, tfrecord.ZLIB: {"zlib", "ZLIB"},
	} {
		if got := [2]string{c.String(), c.TensorFlow()}; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestShortRead uses a reader that returns no bytes for a while.
func TestShortRead(t *testing.T) {
	n, err := drain(t, tfrecord.NewReader(iotest.HalfReader(bytes.NewReader(corrupt.File())), "FILE", nil))
	if n != 10 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}
