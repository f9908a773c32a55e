package tfrecord

// Location says where a record is in a list of files.
type Location struct {
	File   int   // index in the list
	Record int64 // ordinal in the file, from 0
}
