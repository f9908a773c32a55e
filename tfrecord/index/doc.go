// Package index stores the result of scanning a TFRecord file in a file next to it: the
// number of records and the length of each.
//
//	files, err := index.Scan(ctx, paths, &index.Options{Layout: true, Write: true})
//	if err != nil {
//		return err
//	}
//	offset := files[0].Layout.Offset(1000) // of record 1,000 of the first file
//
// # The question
//
// TFRecord files have no directory. To find the number of records, or record 1,000, a
// program has to walk all headers. That takes a second for a few million records and
// minutes on a slow disk, each time a dataset is opened. An index file remembers the
// result. But a file next to the data may be older than the data, truncated, from
// another program, or malicious. It must never lead to wrong records.
//
// # The answer
//
// An index file contains lengths instead of offsets. Records follow each other without
// gaps, so the offsets are sums of lengths. An index can therefore not skip a record,
// repeat one, or point outside of the file: the lengths and the frames of all records
// must add up to the size of the file. A program that reads a record by its offset
// finds the record's own header there, with the length and its checksum, and compares
// both.
//
// Before a scan uses an index file it checks, in this order:
//
//  1. the index file: its magic number, version and size, the digest at its end, and
//     that the lengths add up;
//  2. the size of the data file;
//  3. its modification time;
//  4. the headers of a sample of the records, including the first and the last.
//
// If 2 or 4 fails, the index contradicts the data, and Options.Warn is called. If only
// the time differs, the index is older than the data. In both cases the file is scanned
// as if there were no index. A sample is not a proof, but that is not needed: each
// record is checked when it is read, and [tfrecord.Index.Changed] detects a file that
// changes while it is in use.
//
// # Where index files are
//
// The index of the file NAME is NAME.millrace-index in the same folder. If that folder
// cannot be written, the index is in the user's cache directory, under the SHA-256 of
// the data file's path. The data folder is searched first.
//
// An index file is written under another name and renamed. So it is either complete or
// absent, and several processes may write it at once. It is not synced to the disk:
// after a crash of the machine it may be damaged, which its digest reveals.
//
// # The format
//
// Numbers are little endian.
//
//	offset  bytes
//	0       8      "MRINDEX" and a zero byte
//	8       4      version, 1
//	12      4      compression of the data file: 0 none, 1 gzip, 2 zlib
//	16      8      size of the data file in bytes
//	24      8      its modification time, in ns since 1970 began in UTC (signed)
//	32      8      members of a gzip file, else 0
//	40      8      n, the number of records
//	48      32     SHA-256 of header and data checksum of all records, 16 bytes each
//	80      4 n    length of each record's data in bytes
//	80+4n   32     SHA-256 of all bytes before
//
// For a compressed file the lengths give the number and sizes of the records, but not
// the location of a record in the compressed file.
package index
