//go:build !stress

package dataset_test

// many is the number of concurrent producers.
const many = 10_000
