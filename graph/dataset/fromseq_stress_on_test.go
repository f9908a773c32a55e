//go:build stress

package dataset_test

// many is little under stress, where each use of a C pointer collects.
const many = 100
