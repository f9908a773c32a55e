// Package example reads and writes tf.train.Example and SequenceExample, the
// protobuf messages that records hold, without protobuf reflection.
//
// The reader is strict: it accepts a record when TensorFlow's own parser and
// protobuf both do and agree on what it holds. What only one of them takes is
// an error here, with the byte it is at: unknown fields inside the features,
// groups, lengths that reach past the message around them, tags and lists that
// TensorFlow passes over in silence. Both skip unknown fields beside the
// features, so those are skipped here; and both let the last of several
// features of one name win, as do the features of concatenated messages.
//
// A byte string that claims 2^31 bytes or more is among them: it ends
// TensorFlow's process. So does, sooner or later, a list of unpacked floats
// that is longer than the shape asked for, which is accepted here: compare
// [Raw.Len] before TensorFlow sees the record.
//
// [Parse] and [ParseSequence] only find the features, so that what is wrong
// with one that nobody asks for, or that another of its name hides, does not
// matter; it does not to TensorFlow. The values are decoded when asked for.
// Everything is bounded by the record's size, some bytes for each byte of it;
// nothing recurses; nothing panics. What is returned refers to the record's
// bytes, which must stay as they are for as long.
package example
