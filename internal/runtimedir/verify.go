package runtimedir

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"millrace"
)

// Verify reports libraries that are not those that were installed.
//
// A library whose size, time and inode are as they were is believed, unless
// full is set: hashing takes about a second. When only time or inode differ,
// as after a copy, it is hashed and, if right, noted under its new inode.
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
		in.Write() // only saves the next one the hashing; the directory may be read-only
	}
	return nil
}

// verify checks one library and says whether its stamp had to be renewed.
func (l *Library) verify(dir string, full bool) (moved bool, err error) {
	path := filepath.Join(dir, l.Name)
	now, err := Stamp(path)
	if err != nil {
		return false, err
	}
	if now.Size != l.Size {
		return false, problem(millrace.ErrRuntime, path, "has %d bytes, %d were installed; type %s", now.Size, l.Size, Remedy)
	}
	moved = now.ModTime != l.ModTime || now.Inode != l.Inode
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
	l.ModTime, l.Inode = now.ModTime, now.Inode
	return moved, nil
}

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
	f, err := os.Open(path)
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

// onlyReader hides WriteTo, which would ignore our larger buffer.
type onlyReader struct{ io.Reader }

// cause takes the path out of an error whose place is already said.
func cause(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}
