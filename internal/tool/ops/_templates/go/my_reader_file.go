package myreader

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"millrace"
)

// maxRecordBytes is the longest record that is read.
const maxRecordBytes = 256 << 20

// position is where a reader goes on.
type position struct {
	File   int   // the number of the file
	Record int64 // number of the record in the file, from 0
	Offset int64 // byte offset of the record in the file
}

// reader reads the records of files. It is a dataset.Reader.
type reader struct {
	filenames []string
	at        position
	file      *os.File // nil: not opened yet
	size      int64
	buffer    *bufio.Reader
}

// Next returns the next record, and io.EOF at the end of the last file.
func (r *reader) Next() (Record, error) {
	for ; r.at.File < len(r.filenames); r.at = (position{File: r.at.File + 1}) {
		if err := r.open(); err != nil {
			return Record{}, err
		}
		if r.at.Offset < r.size {
			return r.read()
		}
		if err := r.Close(); err != nil {
			return Record{}, err
		}
	}
	return Record{}, io.EOF
}

// open opens the file at the position, unless it is open.
func (r *reader) open() error {
	if r.file != nil {
		return nil
	}
	file, err := os.Open(r.filenames[r.at.File])
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() < r.at.Offset {
		err = r.errorf(millrace.ErrTruncated, "the state goes on here, but the file has %d bytes", info.Size())
	}
	if err == nil {
		_, err = file.Seek(r.at.Offset, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return err
	}
	r.file, r.size, r.buffer = file, info.Size(), bufio.NewReader(file)
	return nil
}

// read reads the record at the position.
func (r *reader) read() (Record, error) {
	const header = 4
	left := r.size - r.at.Offset - header
	if left < 0 {
		return Record{}, r.errorf(millrace.ErrTruncated, "the file ends within a length")
	}
	var length [header]byte
	if _, err := io.ReadFull(r.buffer, length[:]); err != nil {
		return Record{}, r.errorf(millrace.ErrIO, "%w", err)
	}
	n := int64(binary.LittleEndian.Uint32(length[:]))
	switch {
	case n > maxRecordBytes:
		return Record{}, r.errorf(millrace.ErrCorrupt, "a length of %d bytes, at most %d are allowed", n, maxRecordBytes)
	case n > left:
		return Record{}, r.errorf(millrace.ErrTruncated, "a length of %d bytes, but %d are left", n, left)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r.buffer, data); err != nil {
		return Record{}, r.errorf(millrace.ErrIO, "%w", err)
	}
	key := fmt.Sprintf("%s:%d", r.filenames[r.at.File], r.at.Record)
	r.at.Record++
	r.at.Offset += header + n
	return Record{Data: string(data), Key: key}, nil
}

// errorf returns an error about the record at the position.
func (r *reader) errorf(class millrace.Class, format string, args ...any) error {
	e := millrace.Errorf(class, format, args...)
	e.File, e.Record, e.Offset = r.filenames[r.at.File], r.at.Record, r.at.Offset
	return e
}

// State returns the position as JSON.
func (r *reader) State() ([]byte, error) { return json.Marshal(r.at) }

// Close closes the file.
func (r *reader) Close() error {
	if r.file == nil {
		return nil
	}
	file := r.file
	r.file = nil
	return file.Close()
}
