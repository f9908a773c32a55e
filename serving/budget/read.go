package budget

import (
	"errors"
	"io"
)

// A reader first gets firstRead bytes of memory, or firstUnknown if the length is not
// known, until more bytes have arrived. A length that a client only claims is not
// allocated. The reader reads at most longestRead at a time.
const firstRead, firstUnknown, longestRead = 64 << 10, 4 << 10, 1 << 20

// ReadAll reads from to its end into the memory of text, which it replaces when it is
// too short, and returns the text. A negative length stands for unknown. The lease
// grows before the memory does, so a body that inflates is refused when it no longer
// fits, however short it arrived. The capacity that text already has counts only when
// it is used. Together with an error ReadAll returns the bytes that were read.
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

// nextSize returns the size of the next memory after one is full. It is one byte more
// than the length, so that reading finds the end. A text that is longer than it should be
// is one of unknown length.
func nextSize(size, length int64) int64 {
	if length < size {
		return max(2*size, firstUnknown)
	}
	return min(max(2*size, firstRead), length+1)
}
