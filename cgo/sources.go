// Package cgo embeds the C++ sources of Millrace's dataset operations, so that a
// program can compile them without a copy of the repository.
package cgo

import (
	"embed"
	"io/fs"
)

// Only an ancestor of cgo/datasets can embed it: Go refuses C++ files next to a Go file
// that does not import "C".
//
//go:embed datasets/*.cc datasets/*.h
var datasets embed.FS

// Datasets returns the files of cgo/datasets, including tests.
func Datasets() fs.FS {
	sub, err := fs.Sub(datasets, "datasets")
	if err != nil {
		panic(err) // only for a name that is not a valid path
	}
	return sub
}
