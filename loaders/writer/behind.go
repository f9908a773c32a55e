package writer

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	// pieceBytes is the size of one write to a file.
	pieceBytes = 256 << 10

	// pieces is how many pieces of a file are in memory at most.
	pieces = 4

	// diskBytes is how often the system is asked to begin writing to the disk.
	diskBytes = 8 << 20
)

// behind writes to a file by a goroutine of its own. Encoding takes one half of the time
// of writing a dataset, and the system's copy of the file and the disk take the other:
//
//	caller     encode | encode | encode | ...          | wait for the rest
//	goroutine         | write  | write, begin to sync  | write  |
//	disk                                | piece | piece | piece | sync
//
// By itself the system begins to write to the disk after many seconds, so a sync at the
// end of a shard would wait for all of it.
//
// An error appears in a later call. Only one goroutine may use a behind.
type behind struct {
	file *os.File
	open []byte      // the piece that is filled
	full chan []byte // pieces to write
	free chan []byte // pieces that were written
	done chan struct{}
	err  error // set before done is closed

	closed bool // by the caller
}

// newBehind begins to write to a file, which stays the caller's.
func newBehind(file *os.File) *behind {
	b := &behind{file: file, full: make(chan []byte, pieces), free: make(chan []byte, pieces), done: make(chan struct{})}
	for range pieces - 1 {
		b.free <- nil // made when they are needed: most shards of a test are small
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

// Write takes bytes for the file, which are not kept.
func (b *behind) Write(p []byte) (int, error) {
	n := 0
	for len(p) > 0 {
		part := p[:min(len(p), pieceBytes-len(b.open))]
		b.open = append(b.open, part...)
		n, p = n+len(part), p[len(part):]
		if len(b.open) == pieceBytes {
			if err := b.send(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// send hands the open piece to the goroutine and takes another one.
func (b *behind) send() error {
	select {
	case b.full <- b.open:
	case <-b.done:
		return b.err
	}
	select {
	case b.open = <-b.free:
		if b.open == nil {
			b.open = make([]byte, 0, pieceBytes)
		}
		return nil
	case <-b.done:
		return b.err
	}
}

// Close waits until all is written, or the first error. Later calls do nothing.
func (b *behind) Close() error {
	if b.closed {
		return b.err
	}
	b.closed = true
	var err error
	if len(b.open) > 0 {
		err = b.send()
	}
	close(b.full)
	<-b.done
	if err == nil {
		err = b.err
	}
	return err
}
