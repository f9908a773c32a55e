package install

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"millrace"
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
)

// An exported runtime is a tar archive whose first member lists all others:
//
//	export.json                     format, runtime, and of each file name, size and SHA-256
//	libtensorflow_framework.so.2    the files in the order of the list, ...
//	libtensorflow_cc.so.2
//	LICENSE
//	ops/libmillrace_datasets-2.21.0-....so
//	ops/libmillrace_datasets-2.21.0-....so.sha256
//
// The list comes first so that the reader knows, before it writes a byte, whether it
// needs the runtime, whether there is enough space, and the maximum length of each
// file. It only accepts the listed regular files, in any order: no links, devices,
// directories or duplicate names.
const (
	exportList   = "export.json"
	exportFormat = 1
)

// Limits on an archive to import. With headers the list has 3 MB.
const (
	maxExportList  = 32 << 20
	maxExportTotal = 16 << 30
)

// exported is the contents of export.json.
type exported struct {
	Format  int            `json:"format"`
	Version string         `json:"version"` // version of TensorFlow
	Variant string         `json:"variant"`
	Arch    string         `json:"arch"`
	Files   []exportedFile `json:"files"`
}

// exportedFile is one listed file.
type exportedFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// operationsName matches the names of libraries of operations, of any version,
// and of their checksums.
var operationsName = regexp.MustCompile(`^` + oplibrary.Folder + `/libmillrace_datasets-[0-9A-Za-z.]+-[0-9a-f]+\.so(` + regexp.QuoteMeta(oplibrary.StampSuffix) + `)?$`)

// exportable reports whether a file of a runtime directory belongs in an archive.
// Headers do if they are requested.
func exportable(name string, headers bool) bool {
	switch {
	case isLibrary(name), name == license, operationsName.MatchString(name):
		return true
	case strings.HasPrefix(name, "THIRD_PARTY"):
		return !strings.Contains(name, "/")
	}
	return headers && strings.HasPrefix(name, runtimedir.IncludeDir+"/")
}

// total returns the sum of the sizes.
func (e *exported) total() int64 {
	var n int64
	for _, f := range e.Files {
		n += f.Size
	}
	return n
}

// readExportList reads and checks the list of an archive.
func (s *source) readExportList(r io.Reader) (*exported, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxExportList+1))
	if err != nil {
		return nil, s.broken(err)
	}
	if len(text) > maxExportList {
		return nil, problem(millrace.ErrLimit, s.path, "%s has more than %d bytes", exportList, maxExportList)
	}
	list := new(exported)
	if err := json.Unmarshal(text, list); err != nil {
		return nil, problem(millrace.ErrCorrupt, s.path, "%s: %w", exportList, err)
	}
	if list.Format != exportFormat {
		return nil, problem(millrace.ErrRuntime, s.path, "is an archive of format %d, this millrace reads format %d", list.Format, exportFormat)
	}
	return list, s.checkExportList(list)
}

// checkExportList checks names and sizes, before anything is written.
func (s *source) checkExportList(list *exported) error {
	var sum int64
	for _, f := range list.Files {
		if !exportable(f.Name, true) {
			return problem(millrace.ErrCorrupt, s.path, "lists a file that a runtime does not have: %s", millrace.QuoteData([]byte(f.Name)))
		}
		if f.Size < 0 || f.Size > limitOf(f.Name) {
			return problem(millrace.ErrLimit, s.path, "lists %s with %d bytes, at most %d are allowed", millrace.QuoteData([]byte(f.Name)), f.Size, limitOf(f.Name))
		}
		if sum += f.Size; sum > maxExportTotal {
			return problem(millrace.ErrLimit, s.path, "lists files of more than %d bytes together", int64(maxExportTotal))
		}
	}
	return nil
}

// list hashes the files of dir that belong in an archive.
func list(in *runtimedir.Installed, headers bool) (*exported, error) {
	e := &exported{Format: exportFormat, Version: in.Version, Variant: in.Variant, Arch: in.Arch}
	names, err := exportNames(in, headers)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := filepath.Join(in.Dir, filepath.FromSlash(name))
		info, err := os.Stat(path)
		if err != nil {
			return nil, ioError(err)
		}
		sum, err := runtimedir.HashFile(path)
		if err != nil {
			return nil, err
		}
		e.Files = append(e.Files, exportedFile{name, info.Size(), sum})
	}
	return e, nil
}

// exportNames returns the names of the files to export: the libraries first, the rest
// in order. Libraries of operations for other versions are not exported.
func exportNames(in *runtimedir.Installed, headers bool) ([]string, error) {
	names := slices.Clone(runtimedir.Libraries[:])
	ours := oplibrary.Folder + "/" + oplibrary.Name(in.Version)
	err := fs.WalkDir(os.DirFS(in.Dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (strings.HasPrefix(e.Name(), workPrefix) || name == runtimedir.IncludeDir && !headers):
			return fs.SkipDir
		case !e.Type().IsRegular(), isLibrary(name), !exportable(name, headers):
			return nil
		case operationsName.MatchString(name) && strings.TrimSuffix(name, oplibrary.StampSuffix) != ours:
			return nil
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, ioError(err)
	}
	if slices.Contains(names, ours) {
		if err := oplibrary.Verify(filepath.Join(in.Dir, ours)); err != nil {
			return nil, millrace.Errorf(millrace.ErrRuntime, "%w", err)
		}
	}
	return names, nil
}
