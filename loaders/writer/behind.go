package writer

import (
	"io"

	"golang.org/x/sys/unix"
)

const (
	// pieceBytes is the size of one write to a file. A piece has room for one more
	// page, which a tfrecord.Writer keeps for the next piece.
	pieceBytes = 256 << 10

	// pieces is the largest number of pieces of a file in memory.
	pieces = 8

	// diskBytes is the number of bytes after which the system is asked to begin writing
	// to the disk.
	diskBytes = 1 << 20
)

// behind writes to a file in a separate goroutine. Encoding takes one half of the time
// of writing a dataset; copying to the file by the system, and the disk, take the
// other:
//
// |caller     encode | encode | encode | ...          | wait for the rest
//
// |goroutine         | write  | write, begin to sync  | write  |
//
// |disk                                | piece | piece | piece | sync
//
// By itself the system begins to write to the disk after many seconds, so a sync at the
// end of a shard would wait for all of it.
//
// An error appears in a later call. Only one goroutine may use a behind.
type behind struct {
	file diskFile
	open []byte      // bytes from Write
	full chan []byte // pieces to write
	free chan []byte // pieces that were written
	done chan struct{}
	err  error // set before done is closed

	closed bool // the caller has closed it
}

// diskFile has the methods of a file that a behind needs.
type diskFile interface {
	io.Writer
	Fd() uintptr
}

// newBehind begins to write to a file, which the caller still owns and closes.
func newBehind(file diskFile) *behind {
	b := &behind{file: file, full: make(chan []byte, pieces), free: make(chan []byte, pieces), done: make(chan struct{})}
	for range pieces {
		b.free <- nil // allocated when needed: most shards of a test are small
	}
	go b.run()
	return b
}

// run writes pieces until Close, or until the first error.
func (b *behind) run() {
	defer close(b.done)
	at, begun := int64(0), int64(0)
	for piece := range b.full {
		if _, b.err = b.file.Write(piece); b.err != nil {
			return
		}
		b.free <- piece[:0]
		at += int64(len(piece))
		if at-begun >= diskBytes {
			// Only a hint: the sync at the end decides.
			unix.SyncFileRange(int(b.file.Fd()), begun, at-begun, unix.SYNC_FILE_RANGE_WRITE)
			begun = at
		}
	}
}

// Swap takes a full piece, and returns an empty one. See [tfrecord.NewWriter].
func (b *behind) Swap(full []byte) ([]byte, error) {
	err := b.sendOpen()
	if err == nil && len(full) > 0 {
		err = b.send(full)
	}
	if err != nil {
		return nil, err
	}
	return b.take()
}

// Write takes bytes for the file. It does not keep the slice.
func (b *behind) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		if b.open == nil {
			var err error
			if b.open, err = b.take(); err != nil {
				return n, err
			}
		}
		part := p[n:min(len(p), n+pieceBytes-len(b.open))]
		b.open = append(b.open, part...)
		n += len(part)
		if len(b.open) == pieceBytes {
			if err := b.sendOpen(); err != nil {
				return n, err
			}
		}
	}
	return len(p), nil
}

// take returns an empty piece.
func (b *behind) take() ([]byte, error) {
	select {
	case piece := <-b.free:
		if piece == nil {
			piece = make([]byte, 0, pieceBytes+4<<10)
		}
		return piece, nil
	case <-b.done:
		return nil, b.err
	}
}

// sendOpen hands the bytes that Write has collected to the goroutine.
func (b *behind) sendOpen() error {
	piece := b.open
	b.open = nil
	if len(piece) == 0 {
		return nil
	}
	return b.send(piece)
}

// send hands a piece to the goroutine.
func (b *behind) send(piece []byte) error {
	select {
	case b.full <- piece:
		return nil
	case <-b.done:
		return b.err
	}
}

// Close waits until everything is written, or returns the first error. Later calls do
// nothing.
func (b *behind) Close() error {
	if b.closed {
		return b.err
	}
	b.closed = true
	err := b.sendOpen()
	close(b.full)
	<-b.done
	if err == nil {
		err = b.err
	}
	return err
}
