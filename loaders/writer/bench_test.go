package writer_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"millrace/loaders/writer"
	"millrace/tfrecord/example"
)

// row is the record with which bench measures reading.
type row struct {
	Values [64]float32 `example:"values"`
	Label  int64       `example:"label"`
}

const benchRows = 100_000

// BenchmarkStructs writes 100,000 structs as a dataset with an index: encoding, both
// checksums, the file and its sync to the disk.
func BenchmarkStructs(b *testing.B) {
	var r row
	b.ReportAllocs()
	dir := filepath.Join(b.TempDir(), "data")
	for b.Loop() {
		b.StopTimer()
		if err := os.RemoveAll(dir); err != nil { // otherwise memory would be new each time
			b.Fatal(err)
		}
		b.StartTimer()
		w, err := writer.Structs[row](dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		for i := range benchRows {
			r.Label, r.Values[i%64] = int64(i), float32(i)
			if err := w.Write(&r); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkEncode encodes the same structs without writing them.
func BenchmarkEncode(b *testing.B) {
	e, err := example.NewEncoder[row]()
	if err != nil {
		b.Fatal(err)
	}
	var r row
	var buf []byte
	for b.Loop() {
		for i := range benchRows {
			r.Label, r.Values[i%64] = int64(i), float32(i)
			buf = e.Append(buf[:0], &r)
		}
	}
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkCopyAndCRC is the limit: to copy the bytes of those records and to compute
// both checksums, in memory.
func BenchmarkCopyAndCRC(b *testing.B) {
	e, err := example.NewEncoder[row]()
	if err != nil {
		b.Fatal(err)
	}
	record := e.Append(nil, &row{Label: 50_000})
	table := crc32.MakeTable(crc32.Castagnoli)
	buf := make([]byte, 0, 256<<10)
	var head [8]byte
	sum := uint32(0)
	for b.Loop() {
		for range benchRows {
			if len(buf)+len(record)+16 > cap(buf) {
				buf = buf[:0]
			}
			binary.LittleEndian.PutUint64(head[:], uint64(len(record)))
			buf = append(buf, head[:]...)
			buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(head[:], table))
			buf = append(buf, record...)
			buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(record, table))
		}
		sum += crc32.Checksum(buf, table)
	}
	if sum == 0 {
		b.Log("the checksum is zero")
	}
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkCopyCRCAndFile is the limit of a program that writes a file with one thread:
// it also gives the bytes to the system, in pieces of the same size, and waits for the
// disk.
func BenchmarkCopyCRCAndFile(b *testing.B) {
	e, err := example.NewEncoder[row]()
	if err != nil {
		b.Fatal(err)
	}
	record := e.Append(nil, &row{Label: 50_000})
	table := crc32.MakeTable(crc32.Castagnoli)
	buf := make([]byte, 0, 256<<10)
	var head [8]byte
	for b.Loop() {
		f, err := os.Create(filepath.Join(b.TempDir(), "data"))
		if err != nil {
			b.Fatal(err)
		}
		for i := range benchRows {
			binary.LittleEndian.PutUint64(head[:], uint64(len(record)))
			buf = append(buf, head[:]...)
			buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(head[:], table))
			buf = append(buf, record...)
			buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(record, table))
			if len(buf)+len(record)+16 > cap(buf) || i == benchRows-1 {
				if _, err := f.Write(buf); err != nil {
					b.Fatal(err)
				}
				buf = buf[:0]
			}
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
