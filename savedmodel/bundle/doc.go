// Package bundle reads the index of a checkpoint in TensorFlow's format (TensorBundle), and
// compares the data files with its checksums.
//
//	index, err := bundle.Read("variables.index", data)
//	err = index.CheckShards(folder, true)
package bundle
