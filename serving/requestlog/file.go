package requestlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/tfrecord"
)

const (
	complete      = ".tfrecords"
	partial       = ".tfrecords.partial"
	examplesInfix = "-examples"
	frame         = 16 // bytes of a record's length and checksums
)

// files counts the files of the process, so that no two have the same name.
var files atomic.Int64

// rotating writes records to one file after another. One goroutine uses it.
type rotating struct {
	prefix string
	max    int64
	file   *os.File // nil: none is open
	writer *tfrecord.Writer
	size   int64
}

// open begins a file.
func (r *rotating) open() error {
	name := fmt.Sprintf("%s-%s-%d-%d", r.prefix, time.Now().UTC().Format("20060102T150405.000000"), os.Getpid(), files.Add(1))
	f, err := os.OpenFile(name+partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return ioError(name+partial, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return r.open() // another Log recovered the empty file as an abandoned one
		}
		return ioError(name+partial, err)
	}
	r.file, r.writer, r.size = f, tfrecord.NewWriter(f, tfrecord.None), 0
	return nil
}

// write writes a record, and completes the file when it is large enough. After an
// error the next record begins a new file.
func (r *rotating) write(record []byte) error {
	if r.file == nil {
		if err := r.open(); err != nil {
			return err
		}
	}
	if err := r.writer.Write(record); err != nil {
		return r.abandon(err)
	}
	if r.size += int64(len(record)) + frame; r.size < r.max {
		return nil
	}
	return r.complete()
}

// flush writes the buffered records to the system.
func (r *rotating) flush() error {
	if r.file == nil {
		return nil
	}
	if err := r.writer.Flush(); err != nil {
		return r.abandon(err)
	}
	return nil
}

// abandon closes a file that cannot be written. The next Log recovers it.
func (r *rotating) abandon(err error) error {
	name := r.file.Name()
	r.file.Close()
	r.file = nil
	return ioError(name, err)
}

// complete ends the file and gives it its final name. A file without records is
// removed.
func (r *rotating) complete() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	if err := r.writer.Close(); err != nil {
		return r.abandon(err)
	}
	r.file = nil
	return finish(f, r.size)
}

// finish syncs and closes a file of whole records, and gives it its name.
func finish(f *os.File, size int64) error {
	defer f.Close() // it stays locked until it has its name
	if size == 0 {
		return ioError(f.Name(), os.Remove(f.Name()))
	}
	if err := f.Sync(); err != nil {
		return ioError(f.Name(), err)
	}
	return ioError(f.Name(), atomicfile.Rename(f.Name(), strings.TrimSuffix(f.Name(), partial)+complete))
}

// recoverFiles completes the files of killed processes.
func recoverFiles(prefix string) error {
	dir, base := filepath.Split(prefix)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return ioError(dir, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base+"-") || !strings.HasSuffix(e.Name(), partial) {
			continue
		}
		if err := recoverFile(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// recoverFile completes a file, unless another process is writing it.
func recoverFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return ioError(path, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil
		}
		return ioError(path, err)
	}
	size := wholeRecords(path)
	if err := f.Truncate(size); err != nil {
		f.Close()
		return ioError(path, err)
	}
	return finish(f, size)
}

// wholeRecords returns how many bytes of a file are whole records.
func wholeRecords(path string) int64 {
	size := int64(0)
	for record, err := range tfrecord.Records(path, nil) {
		if err != nil {
			break // incomplete
		}
		size += int64(len(record.Data)) + frame
	}
	return size
}

// ioError returns an error about a file, nil for nil.
func ioError(path string, err error) error {
	if err == nil {
		return nil
	}
	e := millrace.Errorf(millrace.ErrIO, "request log: %w", atomicfile.Cause(err))
	e.File = path
	return e
}
