//go:build stress

package dataset_test

// many is small under stress, where each use of a C pointer runs the collector.
const many = 100
