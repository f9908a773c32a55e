// Package tfrecord reads and writes TFRecord files, strictly.
//
// A TFRecord file is a row of records: a length (8 bytes, little endian), a
// masked CRC-32C of the length, the data, and a masked CRC-32C of the data.
// The whole row may be compressed as one gzip or zlib stream.
//
// TensorFlow takes a file that ends inside a header, or a compressed stream
// that ends early, for the end of the data, and a header that claims 64 GiB
// for an order to allocate them. This package does neither: [Reader.Next]
// gives io.EOF only where a record (and the compressed stream) really ends,
// compares every length with a cap and with what the file can hold before
// memory is set aside, and says of every fault which record of which file it
// is in. What TensorFlow reads as a whole is read here too: files of no bytes,
// streams of no records, gzip streams of several members.
//
// [Scan] walks the headers of a file, to count its records and to refuse it
// before TensorFlow sees it. [Records] and [Find] read the records themselves.
//
// Nothing here needs TensorFlow. Values of this package are for one goroutine
// at a time; functions may be called from many.
package tfrecord
