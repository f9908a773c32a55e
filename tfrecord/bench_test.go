package tfrecord_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"millrace/tfrecord"
)

// writeFile writes n records of size bytes and returns the file's path.
func writeFile(tb testing.TB, c tfrecord.Compression, n, size int) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "data.tfrecords")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w := tfrecord.NewWriter(f, c)
	record := make([]byte, size)
	for i := range n {
		for j := range record {
			record[j] = byte(i*31 + j*j)
		}
		if err := w.Write(record); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

var benchFiles = []struct {
	name        string
	compression tfrecord.Compression
	n, size     int
}{
	{"plain/300B", tfrecord.None, 100_000, 300},
	{"plain/100KB", tfrecord.None, 300, 100_000},
	{"gzip/300B", tfrecord.GZIP, 100_000, 300},
}

func BenchmarkScan(b *testing.B) {
	for _, bb := range benchFiles {
		b.Run(bb.name, func(b *testing.B) {
			path := writeFile(b, bb.compression, bb.n, bb.size)
			b.SetBytes(int64(bb.n * (bb.size + 16)))
			b.ReportAllocs()
			for b.Loop() {
				x, err := tfrecord.Scan(b.Context(), path, &tfrecord.ReaderOptions{Compression: bb.compression})
				if err != nil || x.Records != int64(bb.n) {
					b.Fatal(x, err)
				}
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	for _, bb := range benchFiles {
		b.Run(bb.name, func(b *testing.B) {
			data, err := os.ReadFile(writeFile(b, bb.compression, bb.n, bb.size))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(bb.n * (bb.size + 16)))
			b.ReportAllocs()
			for b.Loop() {
				r := tfrecord.NewReader(bytes.NewReader(data), "bench", &tfrecord.ReaderOptions{Compression: bb.compression})
				for err = nil; err == nil; {
					_, err = r.Next()
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWriter(b *testing.B) {
	record := make([]byte, 300)
	b.SetBytes(316)
	b.ReportAllocs()
	w := tfrecord.NewWriter(io.Discard, tfrecord.None)
	for b.Loop() {
		if err := w.Write(record); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScanAll scans 1,000 files of one record.
func BenchmarkScanAll(b *testing.B) {
	path := writeFile(b, tfrecord.None, 1, 300)
	paths := make([]string, 1000)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s.%d", path, i)
		if err := os.Link(path, paths[i]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tfrecord.ScanAll(b.Context(), paths, nil); err != nil {
			b.Fatal(err)
		}
	}
}
