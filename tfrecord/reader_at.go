package tfrecord

import (
	"context"
	"encoding/binary"
	"io"
	"slices"

	"millrace"
)

// ReaderAt reads the records of an uncompressed file in any order. ReadRecord may be
// called concurrently.
type ReaderAt struct {
	file  File
	index *Index
}

// OpenAt opens the file of an index with a Layout. It refuses a file that has changed
// since the scan. The caller closes the ReaderAt.
func OpenAt(x *Index) (*ReaderAt, error) {
	if x.Layout == nil || x.Compression != None {
		e := millrace.Errorf(millrace.ErrConfig, "records are read by their place in a plain file with a layout only")
		e.File = x.Path
		return nil, e
	}
	f, info, err := openRegular(context.Background(), x.Path)
	if err != nil {
		return nil, err
	}
	if diff := difference(x.info, info); diff != "" {
		f.Close()
		return nil, x.changed(diff)
	}
	return &ReaderAt{file: f, index: x}, nil
}

// Close closes the file.
func (r *ReaderAt) Close() error { return r.file.Close() }

// ReadRecord returns the data of a record, whose ordinal is below Index.Records. It
// uses the memory of buf if that is large enough. It compares the length in the
// record's header with the layout, and verifies both checksums.
func (r *ReaderAt) ReadRecord(record int64, buf []byte) ([]byte, error) {
	n := int(r.index.Layout.Length(record))
	b := slices.Grow(buf[:0], n+frameSize)[:n+frameSize]
	have, err := r.file.ReadAt(b, r.index.Layout.Offset(record))
	if err == nil {
		err = r.check(b, n)
	} else if err == io.EOF {
		err = cutRecord("file", int64(n), int64(max(have-headerSize, 0)))
	} else {
		err = ioError("read", r.index.Path, err)
	}
	if err == nil {
		return b[headerSize : headerSize+n], nil
	}
	if changed := r.index.Changed(); changed != nil {
		return nil, changed
	}
	e := err.(*millrace.Error)
	e.Op, e.File, e.Record, e.Offset = "read", r.index.Path, record, r.index.Layout.Offset(record)
	return nil, e
}

// check returns an error if b is not a record of n data bytes.
func (r *ReaderAt) check(b []byte, n int) error {
	length, ok := parseHeader(b)
	if !ok {
		return lengthChecksum(b)
	}
	if length != uint64(n) {
		return millrace.Errorf(millrace.ErrCorrupt,
			"the record has %d bytes, the index says %d: the index is not that of this file; type millrace index --rebuild", length, n)
	}
	data := b[headerSize : headerSize+n]
	if stored, sum := binary.LittleEndian.Uint32(b[headerSize+n:]), maskedCRC(data); stored != sum {
		return dataChecksum(stored, sum, n)
	}
	return nil
}
