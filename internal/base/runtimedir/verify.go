package runtimedir

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"millrace"
	"millrace/internal/base/regularfile"
)

// Verify returns an error if a library has changed since it was installed.
//
// Hashing takes about a second. So unless full is set, a library whose size, time and
// inode are unchanged counts as unchanged. If only time or inode differ, as after a
// copy, Verify hashes the library and, if the hash matches, records the new time and
// inode. A library without a recorded time and inode counts as unchanged if its size is
// unchanged.
func (in *Installed) Verify(full bool) error {
	if err := in.checkPlatform(); err != nil {
		return err
	}
	moved := false
	for i := range in.Libraries {
		changed, err := in.Libraries[i].verify(in.Dir, full)
		if err != nil {
			return err
		}
		moved = moved || changed
	}
	if moved {
		in.Write() // only saves the next call the hashing; may fail, as in a read-only directory
	}
	return nil
}

// verify checks one library and reports whether its stamp had to be renewed.
func (l *Library) verify(dir string, full bool) (moved bool, err error) {
	path := filepath.Join(dir, l.Name)
	now, err := Stamp(path)
	if err != nil {
		return false, err
	}
	if now.Size != l.Size {
		return false, problem(millrace.ErrRuntime, path, "has %d bytes, but %d were installed; type %s", now.Size, l.Size, Remedy)
	}
	moved = l.stamped() && (now.ModTime != l.ModTime || now.Inode != l.Inode)
	if !moved && !full {
		return false, nil
	}
	sum, err := HashFile(path)
	if err != nil {
		return false, err
	}
	if sum != l.SHA256 {
		return false, problem(millrace.ErrRuntime, path, "has SHA-256 %s, want %s; type %s", sum, l.SHA256, Remedy)
	}
	if moved {
		l.ModTime, l.Inode = now.ModTime, now.Inode
	}
	return moved, nil
}

// stamped reports whether the library's time and inode are on record. An exported
// runtime has neither: the layers of an image get other inodes on each machine, and a
// container with a read-only root could not record them, so that each start would hash
// 850 MB. The digest of the layer guarantees the files.
func (l *Library) stamped() bool { return l.ModTime != 0 || l.Inode != 0 }

// Stamp returns the library at path without its hash.
func Stamp(path string) (Library, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Library{}, problem(millrace.ErrRuntime, path, "%w; type %s", cause(err), Remedy)
	}
	l := Library{Name: filepath.Base(path), Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		l.Inode = uint64(st.Ino)
	}
	return l, nil
}

// HashFile returns the SHA-256 of a file in hexadecimal.
func HashFile(path string) (string, error) {
	f, _, err := regularfile.OpenFile(path)
	if err != nil {
		return "", problem(millrace.ErrIO, path, "%w", cause(err))
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, onlyReader{f}, make([]byte, 1<<20)); err != nil {
		return "", problem(millrace.ErrIO, path, "%w", cause(err))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// onlyReader hides the method WriteTo, which would bypass our larger buffer.
type onlyReader struct{ io.Reader }
