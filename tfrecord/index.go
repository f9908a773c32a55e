package tfrecord

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"time"

	"millrace"
	"millrace/remote"
)

// Index is the result of scanning a file.
type Index struct {
	Path        string
	Compression Compression
	Size        int64 // size of the file
	ModTime     time.Time
	Inode       uint64 // 0 on systems without inodes
	Records     int64
	MaxRecord   int64   // data bytes of the largest record
	DataBytes   int64   // bytes of all records, without headers and checksums
	Layout      *Layout // set with [ScanAllOptions].Layout; else nil

	// Digest is the SHA-256 of the header and the data's checksum of every record, 16
	// bytes each, so it identifies the data. It is set with Layout.
	Digest [sha256.Size]byte

	// Rest is the reason why the file cannot be read beyond the records of this Index,
	// with [ScanAllOptions].SkipRest; nil: the Index covers the whole file.
	Rest error

	Members int64 // number of members of a gzip file, 1 for a zlib file; TensorFlow may lose the data after a member whose size is a multiple of 256 KiB

	info fs.FileInfo
}

func newIndex(path string, c Compression, info fs.FileInfo) *Index {
	return &Index{
		Path: path, Compression: c, info: info,
		Size: info.Size(), ModTime: info.ModTime(), Inode: inode(info),
	}
}

// add counts a record of n data bytes.
func (x *Index) add(n int64) {
	if x.Layout != nil {
		x.Layout.Append(n)
	}
	x.Records++
	x.DataBytes += n
	x.MaxRecord = max(x.MaxRecord, n)
}

// Changed returns an error if the file at x.Path has changed since the scan, by its
// size, modification time and inode, and nil otherwise.
func (x *Index) Changed() error {
	if remote.IsURL(x.Path) {
		now, err := remote.Default.Stat(context.Background(), x.Path)
		if err != nil {
			return err
		}
		if diff := difference(x.info, remote.FileInfo{URL: x.Path, Info: now}); diff != "" {
			e := millrace.Errorf(millrace.ErrIO, "changed since it was scanned: %w", remote.ErrChanged)
			e.Op, e.File = "read", x.Path
			return e
		}
		return nil
	}
	now, err := os.Stat(x.Path)
	if err != nil {
		return ioError("stat", x.Path, err)
	}
	if diff := difference(x.info, now); diff != "" {
		return x.changed(diff)
	}
	return nil
}

// changed returns the error about a file that has changed since the scan.
func (x *Index) changed(diff string) error {
	e := millrace.Errorf(millrace.ErrIO, "changed since it was scanned (%s)", diff)
	e.Op, e.File = "read", x.Path
	return e
}
