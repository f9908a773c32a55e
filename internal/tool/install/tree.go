package install

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"millrace"
	"millrace/internal/base/runtimedir"
)

// Limits on the files to unpack. The largest pinned wheel has 21,366 headers
// and libraries of 1.1 GB.
const (
	maxLibrary = 4 << 30
	maxHeader  = 64 << 20
	maxFiles   = 100_000
	maxName    = 1024
)

// tree is a directory that an install fills. Each file is written once, lies
// below the directory, and has a limited size. Several goroutines may write.
type tree struct {
	root *os.Root
	bufs sync.Pool

	mu    sync.Mutex
	dirs  map[string]bool
	sums  map[string]string // SHA-256 of the libraries, by name
	files int
}

func newTree(dir string) (*tree, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, ioError(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, ioError(err)
	}
	t := &tree{root: root, dirs: map[string]bool{".": true}, sums: map[string]string{}}
	t.bufs.New = func() any { return new([1 << 18]byte) }
	return t, nil
}

func (t *tree) close() { t.root.Close() }

// path returns the path of a file that was written.
func (t *tree) path(name string) string { return filepath.Join(t.root.Name(), name) }

// sum returns the hash of a library that was written.
func (t *tree) sum(name string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.sums[name]
	return s, ok
}

// write copies r, of at most limit bytes, to a new file below the tree and
// returns its SHA-256 in hexadecimal.
func (t *tree) write(name string, r io.Reader, limit int64) (string, error) {
	if err := t.admit(name); err != nil {
		return "", err
	}
	f, err := t.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return "", ioError(err)
	}
	h := sha256.New()
	n, err := t.copy(f, h, io.LimitReader(r, limit+1))
	if cerr := f.Close(); err == nil {
		err = ioError(cerr)
	}
	if err == nil && n > limit {
		err = millrace.Errorf(millrace.ErrLimit, "%s is larger than the allowed %d bytes", millrace.Quote(name), limit)
	}
	if err != nil {
		return "", err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if isLibrary(name) {
		t.mu.Lock()
		t.sums[name] = sum
		t.mu.Unlock()
	}
	return sum, nil
}

func (t *tree) copy(f *os.File, h hash.Hash, r io.Reader) (int64, error) {
	buf := t.bufs.Get().(*[1 << 18]byte)
	defer t.bufs.Put(buf)
	var n int64
	for {
		m, rerr := io.ReadFull(r, buf[:])
		h.Write(buf[:m])
		if _, err := f.Write(buf[:m]); err != nil {
			return n, ioError(err)
		}
		n += int64(m)
		if rerr == io.EOF || rerr == io.ErrUnexpectedEOF {
			return n, nil
		}
		if rerr != nil {
			return n, rerr
		}
	}
}

// admit checks a file name and makes the file's directory.
func (t *tree) admit(name string) error {
	if !fs.ValidPath(name) || !filepath.IsLocal(name) || strings.ContainsAny(name, "\\\x00") || len(name) > maxName {
		return millrace.Errorf(millrace.ErrCorrupt, "refuse to unpack a file named %s", millrace.QuoteData([]byte(name)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files++; t.files > maxFiles {
		return millrace.Errorf(millrace.ErrLimit, "refuse to unpack more than %d files", maxFiles)
	}
	dir := path.Dir(name)
	if t.dirs[dir] {
		return nil
	}
	if err := t.root.MkdirAll(dir, 0o755); err != nil {
		return ioError(err)
	}
	t.dirs[dir] = true
	return nil
}

func isLibrary(name string) bool {
	return name == runtimedir.LibraryCC || name == runtimedir.LibraryFramework
}

// limitOf returns the largest allowed size of a file, by its name.
func limitOf(name string) int64 {
	if isLibrary(name) {
		return maxLibrary
	}
	return maxHeader
}
