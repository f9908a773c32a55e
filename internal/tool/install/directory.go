package install

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/runtimedir"
)

// libraryFolders are the places to look for libraries below a directory: the
// directory itself; tensorflow, in an unpacked wheel or in Python's
// site-packages; lib, in an unpacked tarball.
var libraryFolders = []string{".", "tensorflow", "lib"}

// directory returns the source for a directory that holds the libraries.
func directory(dir string) (*source, error) {
	for _, nest := range libraryFolders {
		at := filepath.Join(dir, nest)
		files := libraries(at)
		if len(files) != len(runtimedir.Libraries) {
			continue
		}
		s := &source{path: dir, name: filepath.Base(dir), libs: map[string]string{}}
		for name, file := range files {
			sum, err := runtimedir.HashFile(file)
			if err != nil {
				return nil, err
			}
			s.libs[name] = sum
		}
		include := filepath.Join(at, runtimedir.IncludeDir)
		if nest == "lib" {
			include = filepath.Join(dir, runtimedir.IncludeDir)
		}
		s.unpack = func(ctx context.Context, t *tree) error { return copyDirectory(ctx, t, files, include) }
		if in, err := runtimedir.Read(at); err == nil {
			s.unpack = func(ctx context.Context, t *tree) error { return copyRuntime(ctx, t, in) }
		}
		return s, nil
	}
	return nil, problem(millrace.ErrRuntime, dir, "does not hold %s and %s", runtimedir.LibraryCC, runtimedir.LibraryFramework)
}

// libraries returns the libraries in a directory, by the runtime's names.
func libraries(dir string) map[string]string {
	candidates := map[string][]string{
		runtimedir.LibraryCC:        {runtimedir.LibraryCC, "libtensorflow.so.2", "libtensorflow.so"},
		runtimedir.LibraryFramework: {runtimedir.LibraryFramework, "libtensorflow_framework.so"},
	}
	found := map[string]string{}
	for name, files := range candidates {
		for _, file := range files {
			info, err := os.Stat(filepath.Join(dir, file)) // Stat follows the symbolic links of tarballs
			if err == nil && info.Mode().IsRegular() {
				found[name] = filepath.Join(dir, file)
				break
			}
		}
	}
	return found
}

// copyDirectory copies the libraries, and the headers if there are any.
func copyDirectory(ctx context.Context, t *tree, files map[string]string, include string) error {
	g, ctx := errgroup.WithContext(ctx)
	for name, file := range files {
		g.Go(func() error { return copyFile(ctx, t, file, name) })
	}
	g.Go(func() error {
		if _, err := os.Stat(include); err != nil {
			return nil
		}
		return fs.WalkDir(os.DirFS(include), ".", func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return ioError(err)
			}
			name := path.Join(runtimedir.IncludeDir, p)
			if err := copyFile(ctx, t, filepath.Join(include, p), name); err != nil || name != wheelLicense {
				return err
			}
			return copyFile(ctx, t, filepath.Join(include, p), license)
		})
	})
	return g.Wait()
}

// copyRuntime copies a runtime made by Install and BuildOperations, or by Export.
func copyRuntime(ctx context.Context, t *tree, in *runtimedir.Installed) error {
	names, err := exportNames(in, true)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := copyFile(ctx, t, filepath.Join(in.Dir, filepath.FromSlash(name)), name); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(ctx context.Context, t *tree, file, name string) error {
	f, _, err := regularfile.OpenFile(file)
	if err != nil {
		return ioError(err)
	}
	defer f.Close()
	_, err = t.write(name, &canceling{ctx, f}, limitOf(name))
	return err
}

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
