// Package example reads and writes tf.train.Example and SequenceExample, the
// protobuf messages that records hold, without protobuf reflection.
//
// The reader is strict: it accepts a record when TensorFlow's own parser and protobuf
// both do and agree on what it holds. A record that only one of them accepts is an
// error here, with the offset: unknown fields inside the features, groups, lengths that
// reach past the message around them, tags and lists that TensorFlow silently skips.
// Both skip unknown fields outside of the features, so they are skipped here too. If
// several features have one name the last one wins in both, also in concatenated
// messages.
//
// A byte string that claims 2^31 bytes or more is among them: it ends TensorFlow's
// process. So may a list of unpacked floats that is longer than the requested shape,
// which is accepted here: compare [Raw.Len] before TensorFlow sees the record.
//
// [Parse] and [ParseSequence] only find the features. As in TensorFlow, a fault in a
// feature that is not requested, or that a later one with its name hides, is ignored.
// The values are decoded on request. Memory is bounded by the record's size; nothing
// recurses; nothing panics. Results refer to the record's bytes, which must not change
// while they are used.
package example
