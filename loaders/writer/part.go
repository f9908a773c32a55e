package writer

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
	"millrace/tfrecord/index"
)

// partFolder is the locked hidden folder in which a dataset is written.
type partFolder struct {
	path    string
	dataset string   // the folder whose name it gets
	dir     *os.File // holds the lock
}

func (p *partFolder) shards() string { return p.path }

// PartFolder returns the hidden folder in which the dataset of a folder is written. The
// folder exists after a Writer was stopped, if a later Writer can continue from it.
func PartFolder(dir string) string {
	dir = filepath.Clean(dir)
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".millrace-part")
}

// openPart makes the hidden folder of a dataset, or takes the existing one, and locks
// it.
func openPart(dataset string) (*partFolder, error) {
	named := dataset
	if full, err := filepath.Abs(dataset); err == nil {
		named = full // "." has no name
	}
	path := PartFolder(named)
	for {
		if err := os.MkdirAll(path, 0o777); err != nil {
			return nil, ioError("create", path, err)
		}
		dir, err := os.Open(path)
		if err != nil {
			return nil, ioError("open", path, err)
		}
		if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			dir.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				e := millrace.Errorf(millrace.ErrIO, "another process is writing this dataset (it holds %s): %w", millrace.Quote(path), err)
				e.File = named
				return nil, e
			}
			return nil, ioError("lock", path, err)
		}
		if isAt(dir, path) {
			return &partFolder{path, dataset, dir}, nil
		}
		dir.Close() // the previous Writer renamed or removed it between open and lock
	}
}

// isAt reports whether a path still leads to an open folder.
func isAt(dir *os.File, path string) bool {
	here, err := dir.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

// A list of other shards must not stay, because new shards might have the same sizes.
func (p *partFolder) resume(text string) (progress, error) {
	fresh := progress{Resume: text}
	found := fresh
	if b, err := regularfile.ReadFile(filepath.Join(p.path, progressName), regularfile.TextBytes); err == nil && text != "" {
		if json.Unmarshal(b, &found) != nil || found.Resume != text {
			found = fresh
		}
	}
	keep := make(map[string]bool)
	for i, s := range found.Whole {
		info, err := os.Stat(filepath.Join(p.path, shardName(i)))
		if err != nil || s.Name != shardName(i) || info.Size() != s.Bytes {
			found.Whole = found.Whole[:i]
			break
		}
		keep[s.Name], keep[s.Name+index.Suffix], keep[progressName] = true, true, true
	}
	return found, p.keepOnly(keep)
}

// keepOnly removes all files but those of these names. A folder that no Writer made is
// refused.
func (p *partFolder) keepOnly(keep map[string]bool) error {
	entries, err := os.ReadDir(p.path)
	if err != nil {
		return ioError("read", p.path, err)
	}
	for _, e := range entries {
		if keep[e.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(p.path, e.Name())); err != nil {
			return ioError("remove", filepath.Join(p.path, e.Name()), err)
		}
	}
	return nil
}

func (p *partFolder) save(list *progress) error {
	b, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return p.writeFile(progressName, b)
}

// writeFile writes a file of the folder, completely or not at all.
func (p *partFolder) writeFile(name string, content []byte) error {
	path := filepath.Join(p.path, name)
	if err := atomicfile.Write(path, content, 0o666); err != nil {
		return ioError("write", path, err)
	}
	return nil
}

// publish gives the folder the name of the dataset.
func (p *partFolder) publish(files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := p.writeFile(name, files[name]); err != nil {
			return err
		}
	}
	err := p.dir.Sync()
	if err == nil {
		err = atomicfile.Rename(p.path, p.dataset) // replaces a folder that is empty, and no other
	}
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return mustBeEmpty(p.dataset)
	}
	if err != nil {
		return ioError("rename", p.dataset, err)
	}
	if err := os.Remove(filepath.Join(p.dataset, progressName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return ioError("remove", filepath.Join(p.dataset, progressName), err)
	}
	return nil
}

func (p *partFolder) remove() { os.RemoveAll(p.path) }

func (p *partFolder) Close() error { return p.dir.Close() }

// mustBeEmpty refuses a folder that holds something.
func mustBeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return ioError("read", dir, err)
	case len(entries) > 0:
		e := millrace.Errorf(millrace.ErrConfig, "the folder is not empty; it has %s, for one. Name a new folder, or empty this one", millrace.Quote(entries[0].Name()))
		e.File = dir
		return e
	}
	return nil
}
