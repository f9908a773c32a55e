// Package output writes batches of named tensors to files: NDJSON, TFRecord,
// NumPy .npz and Parquet, chosen by the file's extension, and the one-object-
// a-batch form of `millrace dump`.
//
// A file is written under a temporary name beside its final one, synced, and
// renamed when it is whole, so that a reader sees the old file, the new one or
// none, never a part. The temporary file is also the lock that keeps a second
// job away from the same output.
//
// Memory is bounded by a batch, or by a row group for Parquet, whatever the
// length of the output.
package output
