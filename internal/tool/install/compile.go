package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"millrace"
	"millrace/internal/base/oplibrary"
	"millrace/internal/tool/cxx"
)

// compile compiles and links the sources, and returns the path of the library.
//
// The compiler runs in the directory of the sources and sees them by their bare names.
// Otherwise the library would contain the name of our temporary directory, and builds
// would not be reproducible.
func (b *opBuilder) compile(ctx context.Context) (string, error) {
	names, err := b.writeSources()
	if err != nil {
		return "", err
	}
	const library = "operations.so"
	heavy, err := oplibrary.UsesTensorFlow(b.sources)
	if err != nil {
		return "", err
	}
	build := &cxx.Build{
		Runtime: b.dir, Compiler: b.compiler, Flags: b.Flags, Dir: b.work,
		Header: oplibrary.PrecompiledHeader, Uses: func(source string) bool { return heavy[source] },
	}
	err = build.Library(ctx, names, library)
	var failed *cxx.Error
	if errors.As(err, &failed) {
		err = millrace.Errorf(millrace.ErrRuntime, "%w%s", err, tail(failed.Output))
	}
	return filepath.Join(b.work, library), err
}

// writeSources writes the sources and headers into the work directory, and
// returns the names of the sources.
func (b *opBuilder) writeSources() ([]string, error) {
	sources, err := oplibrary.Sources(b.sources)
	if err != nil {
		return nil, err
	}
	headers, err := oplibrary.Headers(b.sources)
	if err != nil {
		return nil, err
	}
	for _, name := range append(headers, sources...) {
		text, err := fs.ReadFile(b.sources, name)
		if err != nil {
			return nil, ioError(err)
		}
		if err := os.WriteFile(filepath.Join(b.work, name), text, 0o644); err != nil {
			return nil, ioError(err)
		}
	}
	return sources, nil
}
