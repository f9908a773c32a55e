package tfrecord_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

// allocated returns how many bytes a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestClaimedMemory reads records that claim a large size but have few bytes: memory
// follows the bytes that arrive, not the claim (rows C15 to C17 and C39).
func TestClaimedMemory(t *testing.T) {
	claim := append(corrupt.Header(256<<20), "short"...)
	deflated := corrupt.Gzip(claim)
	bomb := corrupt.Bomb(32 << 20)
	tests := []struct {
		name  string
		data  []byte
		o     tfrecord.ReaderOptions
		class millrace.Class
		limit uint64
	}{
		{"plain, size unknown", claim, tfrecord.ReaderOptions{}, millrace.ErrTruncated, 4 << 20},
		{"plain, size known", claim, tfrecord.ReaderOptions{Size: int64(len(claim))}, millrace.ErrTruncated, 1 << 20},
		{"gzip", deflated, tfrecord.ReaderOptions{Compression: tfrecord.GZIP}, millrace.ErrTruncated, 4 << 20},
		{"bomb over the cap", bomb, tfrecord.ReaderOptions{Compression: tfrecord.GZIP, MaxRecordBytes: 16 << 20}, millrace.ErrLimit, 1 << 20},
		{"bomb within the cap", bomb, tfrecord.ReaderOptions{Compression: tfrecord.GZIP, MaxRecordBytes: 32 << 20}, "", 160 << 20},
		{"cap of 40 bytes", corrupt.File(), tfrecord.ReaderOptions{MaxRecordBytes: 40}, millrace.ErrLimit, 1 << 20},
		{"cap of 41 bytes", corrupt.File(), tfrecord.ReaderOptions{MaxRecordBytes: 41}, "", 1 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			used := allocated(func() {
				_, err = drain(t, tfrecord.NewReader(bytes.NewReader(tt.data), "FILE", &tt.o))
			})
			if (err != nil) != (tt.class != "") || err != nil && !errors.Is(err, tt.class) {
				t.Errorf("got %v, want class %q", err, tt.class)
			}
			if used > tt.limit {
				t.Errorf("%d bytes allocated, want at most %d", used, tt.limit)
			}
		})
	}
}

// TestScanBomb scans a valid record of 64 MiB in a file of 64 KiB: the walk
// needs no memory for it.
func TestScanBomb(t *testing.T) {
	path := write(t, corrupt.Bomb(64<<20))
	used := allocated(func() {
		x, err := tfrecord.Scan(t.Context(), path, &tfrecord.ReaderOptions{Compression: tfrecord.GZIP})
		if err != nil || x.MaxRecord != 64<<20 {
			t.Errorf("got %v, %v", x, err)
		}
	})
	if used > 1<<20 {
		t.Errorf("%d bytes allocated", used)
	}
}

// TestManySizes reads and scans records around the sizes of the buffers.
func TestManySizes(t *testing.T) {
	var records [][]byte
	for _, size := range []int{0, 1, 511, 512, 8 << 10, 64<<10 - 4, 64<<10 - 3, 256<<10 - 16, 256<<10 - 4, 256<<10 - 3, 256 << 10, 1 << 20, 3<<20 + 1, 0, 7} {
		records = append(records, bytes.Repeat([]byte{byte(size)}, size))
	}
	file := corrupt.Frame(records...)
	for c, data := range map[tfrecord.Compression][]byte{tfrecord.None: file, tfrecord.GZIP: corrupt.Gzip(file), tfrecord.ZLIB: corrupt.Zlib(file)} {
		path := write(t, data)
		o := &tfrecord.ReaderOptions{Compression: c}
		var offset int64
		n := 0
		for rec, err := range tfrecord.Records(path, o) {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Ordinal != int64(n) || rec.Offset != offset || !bytes.Equal(rec.Data, records[n]) {
				t.Errorf("%s: record %d differs", c, n)
			}
			offset += int64(len(rec.Data)) + 16
			n++
		}
		x, err := tfrecord.Scan(t.Context(), path, o)
		if err != nil || x.Records != int64(n) || n != len(records) || x.MaxRecord != 3<<20+1 || x.DataBytes != offset-16*int64(n) {
			t.Errorf("%s: %d records; scan: %+v, %v", c, n, x, err)
		}
	}
}

// TestGzipFields reads gzip headers with everything a header can have, longer than
// libraries allow, and cuts them at every byte.
func TestGzipFields(t *testing.T) {
	file := corrupt.File()
	plain := corrupt.Gzip(file)
	var header bytes.Buffer
	header.Write(plain[:10])
	header.Bytes()[3] = 4 | 8 | 16
	header.WriteString("\x03\x00abc" + strings.Repeat("n", 5000) + "\x00" + strings.Repeat("c", 5000) + "\x00")
	data := append(header.Bytes(), plain[10:]...)
	o := &tfrecord.ReaderOptions{Compression: tfrecord.GZIP}
	if n, err := drain(t, tfrecord.NewReader(bytes.NewReader(data), "FILE", o)); n != 10 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for _, at := range []int{10, 11, 12, 14, 15, 3000, 6000, header.Len() - 1, header.Len()} {
		if _, err := drain(t, tfrecord.NewReader(bytes.NewReader(data[:at]), "FILE", o)); !errors.Is(err, millrace.ErrTruncated) {
			t.Errorf("cut at %d: got %v", at, err)
		}
	}
	data[3] |= 2 // announces a header checksum, which is missing
	if _, err := drain(t, tfrecord.NewReader(bytes.NewReader(data), "FILE", o)); !errors.Is(err, millrace.ErrCorrupt) {
		t.Errorf("header checksum: got %v", err)
	}
	data[3] = 0x80
	if _, err := drain(t, tfrecord.NewReader(bytes.NewReader(data), "FILE", o)); !errors.Is(err, millrace.ErrCorrupt) {
		t.Errorf("reserved flag: got %v", err)
	}
}

// TestMembers counts the members of a gzip file.
func TestMembers(t *testing.T) {
	one := corrupt.Frame(corrupt.Example(0))
	for n, data := range map[int64][]byte{0: nil, 1: corrupt.Gzip(one), 3: corrupt.Members(one, one, one)} {
		x, err := tfrecord.Scan(t.Context(), write(t, data), &tfrecord.ReaderOptions{Compression: tfrecord.GZIP})
		if err != nil || x.Members != n || x.Records != n {
			t.Errorf("%d members: got %+v, %v", n, x, err)
		}
	}
}

// TestReaderAllocates checks that reading a record does not allocate.
func TestReaderAllocates(t *testing.T) {
	file := bytes.Repeat(corrupt.Frame(make([]byte, 300)), 2000)
	r := tfrecord.NewReader(bytes.NewReader(file), "FILE", nil)
	n := testing.AllocsPerRun(1000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a record", n)
	}
	if _, err := drain(t, r); err != nil && err != io.EOF {
		t.Error(err)
	}
}
