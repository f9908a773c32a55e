package convert

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// maxArrowBytes is the maximum memory of the arrays of a batch and of the dictionaries.
const maxArrowBytes = 1 << 30

// limitedMemory is an allocator that panics with an error of class millrace.ErrLimit if
// a batch would take too much memory. Lengths in a file are only claims: a library that
// trusts them would end the process. The panic is recovered where the library is
// called.
type limitedMemory struct{ taken atomic.Int64 }

// begin starts a batch. The memory of earlier batches counts in the budget of
// [inOrder].
func (m *limitedMemory) begin() { m.taken.Store(0) }

func (m *limitedMemory) take(n int) {
	if n < 0 || m.taken.Add(int64(n)) > maxArrowBytes {
		panic(limitError("a batch that takes more than %d bytes of memory; write the file with fewer rows in a batch or row group", int64(maxArrowBytes)))
	}
}

// Allocate returns new memory.
func (m *limitedMemory) Allocate(size int) []byte {
	m.take(size)
	return memory.DefaultAllocator.Allocate(size)
}

// Reallocate changes the size of memory.
func (m *limitedMemory) Reallocate(size int, b []byte) []byte {
	m.take(size - min(size, len(b)))
	return memory.DefaultAllocator.Reallocate(size, b)
}

// Free releases memory.
func (m *limitedMemory) Free(b []byte) {
	m.taken.Add(-int64(len(b)))
	memory.DefaultAllocator.Free(b)
}
