// Package output writes batches of named tensors to files: NDJSON, TFRecord,
// NumPy .npz and Parquet, chosen by the file's extension. It also formats the
// batches of `millrace dump`.
//
// A file is written under a temporary name in the folder of its final name. It
// is synced and renamed when it is complete, so a reader never sees a part of
// it. The temporary file also serves as a lock: a second job cannot write the
// same output at the same time.
//
// The package keeps at most one batch in memory, or one row group for Parquet, whatever
// the size of the output.
package output
