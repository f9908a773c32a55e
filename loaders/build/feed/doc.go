// Package feed has the Go functions that yield the records of a plan to tf.data: the records of
// a file, or by their positions, or the sequences of an epoch.
package feed
