// Package oplibrary names and finds the shared object of our own dataset
// operations. Its sources are in cgo/datasets; package install compiles them.
//
// The library's name contains a digest of the sources and the version of TensorFlow,
// whose C++ interface changes with every version. So Find never returns a library of
// other sources or for another TensorFlow. Without the library everything works with
// TensorFlow's own operations, but slower.
package oplibrary

import (
	"os"
	"path/filepath"
)

// Folder is the folder of the library below a runtime's directory.
const Folder = "ops"

// Name returns the library's file name for a version of TensorFlow.
func Name(version string) string {
	return "libmillrace_datasets-" + version + "-" + digest + ".so"
}

// Find looks for the library: first next to the program, then in the runtime's
// directory. It returns "" if there is none.
func Find(runtimeDir, version string) string {
	dirs := []string{filepath.Join(runtimeDir, Folder)}
	if program, err := os.Executable(); err == nil {
		dirs = append([]string{filepath.Dir(program)}, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, Name(version))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
