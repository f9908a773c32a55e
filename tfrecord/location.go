package tfrecord

// Location is the location of a record in a list of files.
type Location struct {
	File   int   // index in the list
	Record int64 // index in the file, from 0
}
