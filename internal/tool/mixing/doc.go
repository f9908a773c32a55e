// Package mixing measures how well a loader config mixes the records of its files.
//
// # Finding the order of an epoch
//
// The question: a batch does not show which records it contains. There may be no
// feature that identifies records, and parsing all data to find their order takes long.
//
// The order does not depend on the contents of the records. How it is computed depends
// on the config:
//
//	without shuffle                the files, one after the other
//	shuffle_mode exact, block,     package plan computes the order, from the number
//	shard, range, mixture          of records in each file and their mean size
//	shuffle in buffers             tf.data draws it while it reads
//
// In the last case TensorFlow runs the same stages with the same seed over a copy of
// the dataset. A record of the copy is only its number:
//
//	data/a.tfrecords   | image 0 | image 1 | image 2 |
//	data/b.tfrecords   | image 3 | image 4 |
//	copy/000000000.tfrecords  | 0 | 1 | 2 |
//	copy/000000001.tfrecords  | 3 | 4 |
//
// A simulation of tf.data's shuffle and interleave in Go would be quicker. It would
// also have to follow every release of TensorFlow.
package mixing
