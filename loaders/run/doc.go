// Package run reads batches from a plan that was built into a graph. It runs
// the graph ahead of its caller, counts the batches and rows, saves and
// restores the position in the data, and turns a failed step into an error that
// names file, record and feature.
package run
