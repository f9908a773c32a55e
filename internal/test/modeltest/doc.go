// Package modeltest makes models and checkpoints for the tests of package savedmodel
// and its subpackages: nodes and functions of graphs, and the index of a checkpoint.
package modeltest
