// Package feed has the Go functions that hand the records of a plan to tf.data: those of
// a file, or by their places, or the sequences of an epoch.
package feed
