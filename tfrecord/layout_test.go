package tfrecord_test

import (
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
)

// A layout has the locations of the records that a reader finds, and the reader can
// seek to them.
func TestLayout(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var records [][]byte
	for range 200 {
		records = append(records, make([]byte, draw.IntN(300)))
	}
	file := corrupt.Frame(records...)
	for c, data := range map[tfrecord.Compression][]byte{tfrecord.None: file, tfrecord.ZLIB: corrupt.Zlib(file)} {
		path := write(t, data)
		o := tfrecord.ReaderOptions{Compression: c}
		found, err := tfrecord.ScanAll(t.Context(), []string{path}, &tfrecord.ScanAllOptions{ReaderOptions: o, Layout: true})
		if err != nil {
			t.Fatal(err)
		}
		l, digest := found[0].Layout, sha256.New()
		for rec, err := range tfrecord.Records(path, &o) {
			if err != nil {
				t.Fatal(err)
			}
			if got, n := l.Offset(rec.Ordinal), l.Length(rec.Ordinal); got != rec.Offset || n != int64(len(rec.Data)) {
				t.Errorf("%s, record %d: offset %d, length %d, want %d, %d", c, rec.Ordinal, got, n, rec.Offset, len(rec.Data))
			}
			end := rec.Offset + 12 + int64(len(rec.Data))
			digest.Write(file[rec.Offset : rec.Offset+12])
			digest.Write(file[end : end+4])
		}
		if l.Records() != 200 || l.End() != int64(len(file)) {
			t.Errorf("%s: %d records, end %d", c, l.Records(), l.End())
		}
		if got := found[0].Digest; !slices.Equal(got[:], digest.Sum(nil)) {
			t.Errorf("%s: digest %x", c, got)
		}
	}
}

// HasHeader compares length and checksum at the offset of a record. A file that ends
// earlier counts as one with another header.
func TestHasHeader(t *testing.T) {
	file := corrupt.Frame([]byte("one"), []byte("three"))
	path := write(t, file)
	found, err := tfrecord.ScanAll(t.Context(), []string{path}, &tfrecord.ScanAllOptions{Layout: true})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int]bool{-1: true, 19: false, 30: false, 0: true, 31: true, len(file) - 10: false} {
		changed := slices.Clone(file)
		switch {
		case at > 31:
			changed = changed[:19+8]
		case at >= 0:
			changed[at] ^= 1
		}
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := found[0].Layout.HasHeader(f, 1)
		f.Close()
		if got != want || err != nil {
			t.Errorf("byte %d: %v, %v", at, got, err)
		}
	}
}
