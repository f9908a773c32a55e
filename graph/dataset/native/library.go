package native

import (
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
	"millrace/tfbridge"
)

// Find returns the path of the library for the runtime that o would open, and
// "" if there is no such runtime or library. It opens neither.
func Find(o *tfbridge.RuntimeOptions) string {
	dir, err := tfbridge.FindRuntime(o)
	if err != nil {
		return ""
	}
	return oplibrary.Find(dir, runtimedir.Pinned().Version)
}

// Library returns the path of the library that was loaded when the runtime was opened;
// it opens the runtime if necessary. It returns "" if there is no library for this
// runtime. Then the functions of this package fail; TensorFlow's own operations can
// replace them.
func Library() (path string, err error) {
	r, err := tfbridge.Open(nil)
	if err != nil {
		return "", err
	}
	return r.Operations()
}
