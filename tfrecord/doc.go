// Package tfrecord reads and writes TFRecord files, strictly.
//
// # The format
//
// A TFRecord file is a sequence of records without a header or an index:
//
//	+--------+--------------+----------------+------------+
//	| length | length CRC   | data           | data CRC   |  next record ...
//	| uint64 | uint32       | length bytes   | uint32     |
//	+--------+--------------+----------------+------------+
//
// Numbers are little endian. A CRC is the CRC-32C of the length's 8 bytes or of
// the data, masked: rotated right by 15 bits, plus 0xa282ead8. The whole
// sequence may be compressed as one gzip or zlib stream.
//
// # Strict reading
//
// TensorFlow treats a file that ends inside a header, or a compressed stream that ends
// early, as the end of the data. When a header claims 64 GiB, TensorFlow allocates 64
// GiB. [Reader.Next] does neither. It returns io.EOF only at the end of a record and of
// the compressed stream. Before it allocates memory it compares the length with a limit
// and with the size of the file. Every error names the file and the record. Every file
// that TensorFlow reads completely is accepted here too: empty files, compressed
// streams without records, and gzip streams of several members.
//
// [Scan] walks the headers of a file, to count its records and to refuse the file
// before TensorFlow opens it. [Records] and [Find] read the records themselves.
//
// Nothing here needs TensorFlow. Only one goroutine at a time may use a value of
// this package. Functions may be called concurrently.
package tfrecord
