package tfrecord_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"millrace/tfrecord"
)

// keeper keeps the bytes written to it. As a swapper it takes buffers and poisons the
// ones that it returns.
type keeper struct{ bytes.Buffer }

type swappingKeeper struct {
	keeper
	swaps int
}

func (k *swappingKeeper) Swap(full []byte) ([]byte, error) {
	k.swaps++
	k.Write(full)
	next := bytes.Repeat([]byte{0xcc}, 300<<10)
	return next[:0], nil
}

// The file is the same whether a record is encoded in the available buffer or copied, and
// whether buffers are swapped or not.
func TestAvailableBuffer(t *testing.T) {
	sizes := slices.Concat(slices.Repeat([]int{0, 1, 300, 301, 17, 4096}, 200), []int{300_000, 5, 262_144, 262_100, 7, 258_000, 258_000, 4_000_000, 1, 0})
	records := make([][]byte, len(sizes))
	for i, n := range sizes {
		records[i] = make([]byte, n)
		for k := range records[i] {
			records[i][k] = byte(i*7 + k*k>>3)
		}
	}
	var plain, inPlace, flushed keeper
	var swapped swappingKeeper
	write := func(w io.Writer, place, flush bool) {
		t.Helper()
		x := tfrecord.NewWriter(w, tfrecord.None)
		for i, r := range records {
			if place {
				r = append(x.AvailableBuffer(), r...)
			}
			if flush && i%5 == 0 {
				if err := x.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(&plain, false, false)
	write(&inPlace, true, false)
	write(&flushed, true, true)
	write(&swapped, true, false)
	in := tfrecord.NewReader(bytes.NewReader(plain.Bytes()), "plain", nil)
	for i, want := range records {
		if got, err := in.Next(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("record %d of %d bytes: read %d others (%v)", i, len(want), len(got), err)
		}
	}
	for name, got := range map[string][]byte{"in place": inPlace.Bytes(), "in place, flushed": flushed.Bytes(), "swapped": swapped.Bytes()} {
		if !bytes.Equal(got, plain.Bytes()) {
			t.Errorf("%s: the file is another one", name)
		}
	}
	if swapped.swaps < 3 {
		t.Errorf("%d buffers were swapped", swapped.swaps)
	}
}

// A record in the available buffer is not copied.
func TestAvailableBufferIsThePlace(t *testing.T) {
	var file keeper
	x := tfrecord.NewWriter(&file, tfrecord.None)
	for range 3 {
		record := append(x.AvailableBuffer(), "abc"...)
		if err := x.Write(record); err != nil {
			t.Fatal(err)
		}
		record[0] = 'X' // if it were a copy, the file would not change
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(file.Bytes(), []byte("Xbc")); n != 3 {
		t.Errorf("%d of 3 records were in the buffer: %q", n, file.Bytes())
	}
}

// broken fails as soon as it gets data.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error)        { return 0, b.err }
func (b broken) Swap(full []byte) ([]byte, error) { return nil, b.err }

// An error of the underlying writer is the error of Write, wherever the record was
// stored.
func TestAvailableBufferFails(t *testing.T) {
	full := errors.New("no room")
	x := tfrecord.NewWriter(broken{full}, tfrecord.None)
	if err := x.Write(append(x.AvailableBuffer(), 1, 2, 3)); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if b := x.AvailableBuffer(); b != nil {
		t.Errorf("a buffer of %d bytes after an error", cap(b))
	}
}
