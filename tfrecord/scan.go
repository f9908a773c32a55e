package tfrecord

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"millrace"
)

// Scan walks the record headers of a file and counts the records. Of a plain file it
// reads 12 bytes a record: it verifies the CRC of each length, and that the record fits
// the file and the limit, and does not read the data. It decompresses a compressed
// file, which also verifies the stream's checksums. A file that passes cannot make
// TensorFlow allocate more than the limit for a record, and TensorFlow must deliver
// exactly the number of records in the Index.
func Scan(ctx context.Context, path string, o *ReaderOptions) (*Index, error) {
	opts, err := o.checked()
	if err != nil {
		return nil, withFile(err, path)
	}
	s := &scanner{opts: opts}
	return s.scan(ctx, path)
}

// scanner scans files one after the other with the same buffer.
type scanner struct {
	opts ReaderOptions
	buf  []byte

	// See ScanAllOptions.
	layout, skipRest bool
	known            func(f File, x *Index) bool

	// State of the file being scanned.
	f      File
	index  *Index
	digest hash.Hash // digest of headers and data checksums; nil without layout
	block  []byte    // bytes in buf
	at     int64     // offset of block in the file
}

// A plain file with small records is read in blocks, so that most headers cost no
// system call. When records are so large that skipping their data is cheaper than
// copying it from the page cache, the scan reads header by header.
const (
	scanBlock  = 256 << 10
	skipBlock  = 512
	skipRecord = 8 << 10
)

func (s *scanner) scan(ctx context.Context, path string) (*Index, error) {
	if err := canceled(ctx); err != nil {
		return nil, err
	}
	f, info, err := openRegular(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s.f, s.index = f, newIndex(path, s.opts.Compression, info)
	switch {
	case s.known != nil && s.known(f, s.index):
	case s.opts.Compression == None:
		s.begin()
		err = s.plain(ctx)
	default:
		s.begin()
		err = s.stream(ctx)
	}
	var e *millrace.Error
	if errors.As(err, &e) && e.Class == millrace.ErrCanceled {
		return nil, err
	}
	if now, serr := f.Stat(); serr != nil {
		return nil, ioError("stat", path, serr)
	} else if diff := difference(info, now); diff != "" {
		return nil, changedDuring(path, diff, err)
	}
	if s.skipRest && Severed(err) {
		s.index.Rest, err = err, nil
	}
	if err != nil {
		return nil, err
	}
	if s.digest != nil {
		s.digest.Sum(s.index.Digest[:0])
	}
	return s.index, nil
}

// begin resets the counts for the first record.
func (s *scanner) begin() {
	x := s.index
	x.Records, x.MaxRecord, x.DataBytes, x.Members, x.Layout = 0, 0, 0, 0, nil
	s.digest = nil
	if s.layout {
		x.Layout, s.digest = &Layout{}, sha256.New()
	}
}

// plain walks the headers of an uncompressed file.
func (s *scanner) plain(ctx context.Context) error {
	s.block, s.at = nil, 0
	size := s.index.Size
	for offset := int64(0); offset < size; {
		if size-offset < headerSize {
			return s.recheck(offset)
		}
		h, err := s.part(ctx, offset, headerSize)
		if err != nil {
			return err
		}
		length, ok := parseHeader(h)
		if !ok {
			return s.recheck(offset)
		}
		if err := checkLength(length, size-offset-headerSize, s.opts.MaxRecordBytes); err != nil {
			return s.place(err, offset)
		}
		if s.digest != nil {
			s.digest.Write(h)
			foot, err := s.part(ctx, offset+headerSize+int64(length), crcSize)
			if err != nil {
				return err
			}
			s.digest.Write(foot)
		}
		s.index.add(int64(length))
		offset += int64(length) + frameSize
	}
	return nil
}

// part returns n bytes of the file, at most those of a header.
func (s *scanner) part(ctx context.Context, offset int64, n int) ([]byte, error) {
	if offset < s.at || offset+int64(n) > s.at+int64(len(s.block)) {
		if err := s.load(ctx, offset, n); err != nil {
			return nil, err
		}
	}
	return s.block[offset-s.at:][:n], nil
}

// load reads the block at offset, of at least least bytes.
func (s *scanner) load(ctx context.Context, offset int64, least int) error {
	if err := canceled(ctx); err != nil {
		return err
	}
	want := min(scanBlock, s.index.Size-offset)
	if n := s.index.Records; n > 0 && s.index.DataBytes/n >= skipRecord {
		want = min(want, skipBlock)
	}
	if int64(cap(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	n, err := s.f.ReadAt(s.buf[:want], offset)
	if err != nil && err != io.EOF {
		return s.place(ioError("read", s.index.Path, err), offset)
	}
	if n < least { // the file shrank under the scan
		return s.place(cutHeader("file", n), offset)
	}
	s.block, s.at = s.buf[:n], offset
	return nil
}

// recheck reads the header at offset with the Reader, which reports the fault, and
// guesses the format of a file without records.
func (s *scanner) recheck(offset int64) error {
	o := s.opts
	o.Size = s.index.Size - offset
	d := NewReader(io.NewSectionReader(s.f, offset, o.Size), s.index.Path, &o)
	d.record, d.offset = s.index.Records, offset
	d.opts.Size = s.index.Size
	if _, err := d.Next(); err != nil && err != io.EOF {
		return err
	}
	// The header is correct now: another process writes to the file.
	return s.place(millrace.Errorf(millrace.ErrIO, "changed during read"), offset)
}

// stream walks the records of a compressed file.
func (s *scanner) stream(ctx context.Context) error {
	d := NewReader(s.f, s.index.Path, &s.opts)
	for every := 0; ; every++ {
		if every%1024 == 0 {
			if err := canceled(ctx); err != nil {
				return err
			}
		}
		n, err := d.skip(s.digest)
		if err == io.EOF {
			s.index.Members = d.z.members
			return nil
		}
		if err != nil {
			return err
		}
		s.index.add(int64(n))
	}
}

// skip skips the next record without checking its data and returns the data's length.
// It writes the header and the data's checksum to a digest, which may be nil.
func (d *Reader) skip(digest hash.Hash) (int, error) {
	n, err := d.header()
	if err != nil {
		return 0, err
	}
	if have, err := d.src.Discard(n); err != nil {
		return 0, d.bodyError(err, n+crcSize, have)
	}
	foot, err := d.src.Peek(crcSize)
	if err != nil {
		return 0, d.bodyError(err, n+crcSize, n+len(foot))
	}
	if digest != nil {
		var h [headerSize]byte
		putHeader(&h, n)
		digest.Write(h[:])
		digest.Write(foot)
	}
	d.src.Discard(crcSize)
	d.record++
	d.offset += int64(n) + frameSize
	return n, nil
}

// place sets the location of an error to the next record.
func (s *scanner) place(e *millrace.Error, offset int64) error {
	e.Op, e.File, e.Record, e.Offset = "read", s.index.Path, s.index.Records, offset
	return e
}

// canceled returns an error if ctx has ended.
func canceled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return millrace.Canceled(ctx, "scan of data files")
}
