package spec

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"millrace"
	"millrace/internal/base/jsonpos"
	"millrace/remote"
	"millrace/tfrecord/index"
)

// readDir reads the manifest and finds the data files of a folder.
func (c datasetPart) readDir(a *DirArgs) {
	at, dir := a.Key("data_dir"), c.disk.resolve(a.DataDir)
	if remote.IsURL(dir) {
		c.readRemoteDir(a, dir)
		return
	}
	info, err := c.disk.stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("is not a folder")
	}
	if err != nil {
		c.unreadable(at, "folder", dir, err)
		return
	}
	c.spec.ManifestPath = filepath.Join(dir, ManifestName)
	manifestPart(c).readManifest(at)
	if c.o.ManifestOnly {
		return
	}
	wanted, ok := c.dataFiles(a)
	if !ok {
		return
	}
	w := &walk{checker: c.checker, at: at, top: dir, wanted: wanted}
	w.folder("", []fs.FileInfo{info})
	if len(w.files) == 0 && !w.failed {
		c.noDataFile(a, dir, w.others)
	}
	slices.SortFunc(w.files, func(a, b walkedFile) int { return cmp.Compare(a.rel, b.rel) })
	for _, f := range w.files {
		c.spec.Files = append(c.spec.Files, DataFile{Path: filepath.Join(dir, f.rel), Name: f.rel, Size: f.info.Size()})
	}
	w.repeated()
}

// walk finds the data files of a folder at any depth. It follows symbolic links, because
// people assemble datasets with them, but never enters a folder that contains the current
// one.
type walk struct {
	*checker
	at     *jsonpos.Node
	top    string
	wanted dataFiles
	files  []walkedFile
	others []string // examples of files that are not data files
	failed bool
}

// walkedFile is a data file and its path below the top, with slashes.
type walkedFile struct {
	rel  string
	info fs.FileInfo
}

// problem reports a file or folder below the top.
func (w *walk) problem(rel string, err error) {
	w.failed = true
	w.unreadable(w.at, "file", filepath.Join(w.top, rel), err)
}

// folder adds the files of a folder and of its subfolders. The last element of open is the
// folder itself; the others are the folders that contain it.
func (w *walk) folder(rel string, open []fs.FileInfo) {
	entries, err := w.entries(rel)
	if err != nil {
		w.problem(rel, err)
		return
	}
	for _, e := range entries {
		w.entry(rel+e.Name(), e, open)
	}
}

func (w *walk) entries(rel string) ([]os.DirEntry, error) {
	f, err := w.disk.open(filepath.Join(w.top, rel))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (w *walk) entry(rel string, e os.DirEntry, open []fs.FileInfo) {
	data := w.wanted.has(rel)
	if !data && !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
		w.other(rel, e)
		return
	}
	info, err := w.disk.stat(filepath.Join(w.top, rel))
	switch {
	case err != nil && !data && !e.IsDir() && classOf(err) == millrace.ErrIO:
		// A broken link whose name is not a data file's.
	case err != nil:
		w.problem(rel, err)
	case info.IsDir():
		w.enter(rel+"/", info, open)
	case !data:
	case !info.Mode().IsRegular():
		w.problem(rel, notRegular(info))
	case len(w.files) == maxFiles:
		w.problem(rel, millrace.Errorf(millrace.ErrLimit, "more than %d data files", maxFiles))
	case len(w.files) < maxFiles:
		w.files = append(w.files, walkedFile{rel, info})
	}
}

// other records a file that is not a data file, for a message. It ignores hidden files,
// index files and the manifest.
func (w *walk) other(rel string, e os.DirEntry) {
	hidden := strings.HasPrefix(e.Name(), ".") || index.IsIndex(rel)
	if len(w.others) < maxFiles && e.Type().IsRegular() && rel != ManifestName && !hidden {
		w.others = append(w.others, rel)
	}
}

func (w *walk) enter(rel string, info fs.FileInfo, open []fs.FileInfo) {
	same := func(o fs.FileInfo) bool { return os.SameFile(o, info) }
	switch {
	case slices.ContainsFunc(open, same):
		w.inConfig.Warn(w.at, "the symbolic link %s leads back to a folder that it is in; not followed",
			millrace.Quote(filepath.Join(w.top, rel)))
	case len(open) > maxFolders:
		w.problem(rel, fmt.Errorf("more than %d folders inside one another", maxFolders))
	default:
		w.folder(rel, append(open[:len(open):len(open)], info))
	}
}

// repeated warns of files that were found under two paths.
func (w *walk) repeated() {
	seen := make(map[fileID]string, len(w.files))
	for _, f := range w.files {
		id, ok := identify(f.info)
		if !ok {
			return
		}
		if first, ok := seen[id]; ok {
			w.inConfig.Warn(w.at, "%s and %s are the same file; it is read twice", millrace.Quote(first), millrace.Quote(f.rel))
			continue
		}
		seen[id] = f.rel
	}
}
