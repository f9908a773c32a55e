// Package modeltest makes models and checkpoints for the tests of package savedmodel and of
// those below it: nodes and functions of graphs, and the index of a checkpoint.
package modeltest
