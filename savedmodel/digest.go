package savedmodel

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"millrace"
)

// Digest returns a digest, in hexadecimal, of all that the model computes with: the
// graph, the values of the variables and the files of its assets folder. It reads the
// assets. Of the variables it takes the index, which has the checksums of their values.
func (m *Model) Digest() (string, error) {
	all := sha256.New()
	fmt.Fprintln(all, "graph", m.SHA256)
	if m.bundle != nil {
		fmt.Fprintf(all, "variables %x\n", sha256.Sum256(m.bundle.index))
	}
	folder := os.DirFS(m.Dir)
	err := fs.WalkDir(folder, assetsName, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := fs.Stat(folder, name)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		file, err := folder.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		fmt.Fprintf(all, "asset %q %d\n", name, info.Size())
		_, err = io.Copy(all, file)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e := millrace.Errorf(millrace.ErrIO, "read the assets: %w", err)
		e.File = m.Dir
		return "", e
	}
	return fmt.Sprintf("%x", all.Sum(nil)), nil
}
