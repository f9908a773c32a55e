//go:build !stress

package dataset_test

// many is how many producers there are at once.
const many = 10_000
