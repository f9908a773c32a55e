package run

import (
	"context"

	"millrace/loaders/spec"
	"millrace/remote"
)

// useFiles has reads of remote files end with the context and with the pass. The caller
// reports the end of the pass by the function.
func useFiles(ctx context.Context, files []spec.DataFile) (end func()) {
	var names []string
	for _, f := range files {
		if remote.Default.Reads(f.Path) {
			names = append(names, f.Path)
		}
	}
	if len(names) == 0 {
		return func() {}
	}
	uses := remote.Default.Use(names)
	stop := context.AfterFunc(ctx, uses.Interrupt)
	return func() {
		stop()
		uses.Close()
	}
}
