package budget

import (
	"errors"
	"io"
)

// A reader gets firstRead bytes of memory before more has come, or firstUnknown if the
// length is not known. What a client claims is no reason to allocate it. It reads at most
// longestRead at a time.
const firstRead, firstUnknown, longestRead = 64 << 10, 4 << 10, 1 << 20

// ReadAll reads all of from into the memory of text, which it replaces when that is too
// short, and returns it. A negative length is not known. The lease grows before the memory
// does, so that what inflates is refused when it no longer fits, however short it came.
// What text has already is free of charge until it is used. The bytes read come with every
// error.
func (l *Lease) ReadAll(text []byte, from io.Reader, length int64) ([]byte, error) {
	text = text[:0]
	held := int64(0)
	for {
		if len(text) == cap(text) {
			size := nextSize(int64(cap(text)), length)
			if err := l.Grow(size); err != nil {
				return text, err
			}
			text = append(make([]byte, 0, size), text...)
			l.Shrink(held)
			held = size
		}
		n, err := from.Read(text[len(text):min(cap(text), len(text)+longestRead)])
		text = text[:len(text)+n]
		if more := int64(len(text)) - held; more > 0 {
			if err := l.Grow(more); err != nil {
				return text, err
			}
			held += more
		}
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return text, err
		}
	}
}

// nextSize returns the size of the memory after one that is full. With a byte more than
// the length, reading finds the end.
func nextSize(size, length int64) int64 {
	if length < 0 {
		return max(2*size, firstUnknown)
	}
	return max(min(max(2*size, firstRead), length+1), size+1)
}
