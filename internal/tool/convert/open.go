package convert

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"millrace/internal/base/anyfile"
	"millrace/internal/base/regularfile"
	"millrace/loaders/spec"
	"millrace/remote"
)

// inputFile is an open input: a regular file, or an object of a store.
type inputFile interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Closer
	Stat() (fs.FileInfo, error)
}

// openInput opens an input and returns its size. An object keeps the version that findInputs has
// found: if it was replaced, reading fails.
func openInput(path string) (inputFile, int64, error) {
	if remote.IsURL(path) {
		f, err := remote.Open(context.Background(), path)
		if err != nil {
			return nil, 0, err
		}
		return f, f.Size(), nil
	}
	f, info, err := regularfile.OpenFile(path)
	if err != nil {
		return nil, 0, ioError(path, err)
	}
	return f, info.Size(), nil
}

// readInput reads an input of at most limit bytes.
func readInput(path string, limit int64) ([]byte, error) {
	data, err := anyfile.ReadFile(path, limit)
	if err != nil {
		return nil, ioError(path, err)
	}
	return data, nil
}

// statInput describes an input.
func statInput(path string) (fs.FileInfo, error) {
	if remote.IsURL(path) {
		info, err := remote.Default.Known(context.Background(), path)
		if err != nil {
			return nil, err
		}
		return remote.FileInfo{URL: path, Info: info}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, ioError(path, err)
	}
	return info, nil
}

// objectsOf returns an object, or the objects of a format below a URL.
func objectsOf(url string) ([]string, error) {
	url = remote.Default.Conceal(url)
	if formatOf(url) != nil {
		if _, err := remote.Default.Stat(context.Background(), url); err != nil {
			return nil, err
		}
		return []string{url}, nil
	}
	below := strings.TrimSuffix(url, "/") + "/"
	var files []string
	for o, err := range remote.Default.List(context.Background(), below) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(o.URL, below)
		if !strings.HasPrefix(name, ".") && !strings.Contains(name, "/.") && formatOf(o.URL) != nil {
			files = append(files, o.URL)
		}
	}
	if len(files) == 0 {
		return nil, inputError(url, "no object below this URL has a known format; there are %s", extensionList())
	}
	return files, nil
}

// folderOf returns the folder of a file, from the root.
func folderOf(path string) string {
	if remote.IsURL(path) {
		return remote.Dir(path)
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return filepath.Dir(path)
}

// manifestInStore is manifestAbove for a folder of a store.
func manifestInStore(folder string) string {
	for {
		manifest := remote.Join(folder, spec.ManifestName)
		if _, err := remote.Default.Stat(context.Background(), manifest); err == nil {
			return manifest
		}
		above := remote.Dir(folder)
		if _, name, _ := strings.Cut(above, "://"); name == "." || name == "/" || above == folder {
			return ""
		}
		folder = above
	}
}
