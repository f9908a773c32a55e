package cases

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
)

// archive is the path of the archive of the cases, below the folder of go.mod. It
// replaces 800 folders of small files, at a twentieth of their size. gen/casearchive
// writes it.
const archive = "testdata/cases.tar.gz"

// maxUnpacked is a generous limit for the size of all cases, in bytes.
const maxUnpacked = 64 << 20

// tree returns the files of all cases. They are a few MB and stay in memory. So a
// killed test process leaves no files on disk, and a name in the archive cannot lead
// outside of a folder.
func tree(t testing.TB) fstest.MapFS {
	t.Helper()
	files, err := unpacked()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var unpacked = sync.OnceValues(func() (fstest.MapFS, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(root, archive))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	files, err := Unpack(f)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", archive, err)
	}
	return files, nil
})

// Unpack reads an archive of cases into memory. It only accepts regular files with
// names below the archive's top.
func Unpack(r io.Reader) (fstest.MapFS, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	files, total := make(fstest.MapFS), int64(0)
	for in := tar.NewReader(zip); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, zip) // read on to the checksum
			return files, err
		}
		if err != nil {
			return nil, err
		}
		if head.Typeflag != tar.TypeReg || !fs.ValidPath(head.Name) || head.Name == "." {
			return nil, fmt.Errorf("%q is not a regular file below the top", head.Name)
		}
		if total += head.Size; total > maxUnpacked {
			return nil, fmt.Errorf("more than %d bytes", maxUnpacked)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		files[head.Name] = &fstest.MapFile{Data: text, Mode: 0o644}
	}
}

// moduleRoot returns the folder of go.mod, at or above the current one.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("no go.mod at or above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
}
