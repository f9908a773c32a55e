package install

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/runtimedir"
)

// ExportOptions are the options of Export.
type ExportOptions struct {
	// Headers adds TensorFlow's headers, which only a C++ compiler needs.
	Headers bool

	// Overwrite replaces an existing archive.
	Overwrite bool

	// Progress gets a line for each step. nil: no progress.
	Progress io.Writer
}

// archives are the formats of archives, by file extension.
var archives = map[string]func(w io.Writer) (io.WriteCloser, error){
	".tar":     func(w io.Writer) (io.WriteCloser, error) { return keepOpen{w}, nil },
	".tar.gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	".tar.zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
}

// keepOpen makes a writer a WriteCloser.
type keepOpen struct{ io.Writer }

// Close does nothing.
func (keepOpen) Close() error { return nil }

// Export copies the runtime in a directory, which Install made, to an archive (.tar,
// .tar.gz or .tar.zst) or a new directory, depending on the extension of to. The copy
// has the libraries, the licences and this program's library of dataset operations, if
// the runtime has one. A directory can become part of an image: its runtime.json has no
// time stamps.
//
// Export hashes the libraries first and refuses a runtime that has changed. The
// same runtime gives the same bytes. The copy appears complete or not at all.
func Export(ctx context.Context, dir, to string, o *ExportOptions) error {
	x := &exporter{to: to}
	if o != nil {
		x.ExportOptions = *o
	}
	if x.Progress == nil {
		x.Progress = io.Discard
	}
	in, err := runtimedir.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return problem(millrace.ErrRuntime, dir, "was not installed by millrace, so there are no hashes to compare its libraries with; type %s --from %s --unpinned first", runtimedir.Remedy, millrace.Quote(dir))
	}
	if err != nil {
		return err
	}
	if err := in.Verify(true); err != nil {
		return err
	}
	x.in = in
	if x.list, err = list(in, x.Headers); err != nil {
		return err
	}
	return canceled(ctx, x.export(ctx))
}

// exporter is one call of Export.
type exporter struct {
	ExportOptions
	in   *runtimedir.Installed
	list *exported
	to   string
}

// export writes the archive or the directory.
func (x *exporter) export(ctx context.Context) error {
	if !slices.ContainsFunc(x.list.Files, func(f exportedFile) bool { return operationsName.MatchString(f.Name) }) {
		x.say("the runtime has no library of millrace's dataset operations, so the copy has none: type %s first to have one", oplibrary.Remedy)
	}
	for end, compress := range archives {
		if strings.HasSuffix(x.to, end) {
			return x.archive(ctx, compress)
		}
	}
	return x.directory(ctx)
}

// archive writes a temporary file next to the archive, and renames it.
func (x *exporter) archive(ctx context.Context, compress func(io.Writer) (io.WriteCloser, error)) (err error) {
	if _, err := os.Lstat(x.to); err == nil && !x.Overwrite {
		return problem(millrace.ErrConfig, x.to, "exists already; name another file, or allow overwriting (--overwrite)")
	}
	f, err := atomicfile.Create(x.to, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := compress(f)
	if err != nil {
		return ioError(err)
	}
	x.say("packing %v", x.in)
	if err := x.pack(ctx, z); err != nil {
		return err
	}
	if err := errors.Join(z.Close(), f.Chmod(0o644)); err != nil {
		return ioError(err)
	}
	if err := f.Commit(); err != nil {
		return err
	}
	sum, err := runtimedir.HashFile(x.to)
	x.say("%v is in %s, SHA-256 %s", x.in, millrace.Quote(x.to), sum)
	return err
}

// pack writes the members of the archive.
func (x *exporter) pack(ctx context.Context, w io.Writer) error {
	text, err := json.MarshalIndent(x.list, "", " ")
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	if err := t.WriteHeader(member(exportList, int64(len(text)))); err != nil {
		return ioError(err)
	}
	if _, err := t.Write(text); err != nil {
		return ioError(err)
	}
	for _, file := range x.list.Files {
		if err := x.packFile(ctx, t, file); err != nil {
			return err
		}
	}
	return ioError(t.Close())
}

// packFile writes one file. A file whose size changes meanwhile is an error of
// package tar; the reader finds other changes by the hash.
func (x *exporter) packFile(ctx context.Context, t *tar.Writer, file exportedFile) error {
	f, _, err := regularfile.OpenFile(filepath.Join(x.in.Dir, filepath.FromSlash(file.Name)))
	if err != nil {
		return ioError(err)
	}
	defer f.Close()
	if err := t.WriteHeader(member(file.Name, file.Size)); err != nil {
		return ioError(err)
	}
	_, err = io.Copy(t, &canceling{ctx, f})
	return ioError(err)
}

// member returns the header of a member, independent of the user who writes it.
func member(name string, size int64) *tar.Header {
	return &tar.Header{Name: name, Size: size, Mode: 0o644, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
}

// directory fills a temporary directory next to the new one, and renames it.
func (x *exporter) directory(ctx context.Context) error {
	parent := filepath.Dir(filepath.Clean(x.to))
	work, err := os.MkdirTemp(parent, workPrefix)
	if err != nil {
		return ioError(err)
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "runtime")
	t, err := newTree(made)
	if err != nil {
		return err
	}
	defer t.close()
	x.say("copying %v", x.in)
	for _, file := range x.list.Files {
		if err := copyFile(ctx, t, filepath.Join(x.in.Dir, filepath.FromSlash(file.Name)), file.Name); err != nil {
			return err
		}
	}
	if err := x.describe(made); err != nil {
		return err
	}
	if err := flush(made); err != nil {
		return ioError(err)
	}
	if err := atomicfile.Rename(made, x.to); err != nil { // replaces an empty directory, no other
		return err
	}
	x.say("%v is in %s", x.in, millrace.Quote(x.to))
	return nil
}

// describe writes a runtime.json without the stamps of this file system.
func (x *exporter) describe(dir string) error {
	in := *x.in
	in.Dir, in.Libraries = dir, slices.Clone(in.Libraries)
	for i := range in.Libraries {
		in.Libraries[i].ModTime, in.Libraries[i].Inode = 0, 0
	}
	return in.Write()
}

// say writes a line of progress.
func (x *exporter) say(format string, args ...any) {
	fmt.Fprintf(x.Progress, format+"\n", args...)
}
