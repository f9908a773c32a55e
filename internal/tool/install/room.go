package install

import (
	"millrace"
	"millrace/internal/base/runtimedir"
)

// roomFor returns an error if the disk has too little space for n bytes.
func (in *installer) roomFor(n int64) error {
	if have, ok := free(in.root); ok && have < n {
		return problem(millrace.ErrIO, in.root, "%d MB are free, but installing needs %d MB", have/1e6, n/1e6)
	}
	return nil
}

// roomForWheel returns an error before a download of minutes if the disk has too
// little space.
func (in *installer) roomForWheel() error {
	need := 3 * in.pin.Size // room for the wheel, for its copy while pip moves it, and for the headers
	for _, name := range runtimedir.Libraries {
		need += in.pin.Libraries[name].Size
	}
	return in.roomFor(need)
}
