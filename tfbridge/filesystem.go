//go:build cgo

package tfbridge

// #include "filesystem.h"
import "C"

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"millrace"
	"millrace/remote"
)

// goFiles are the files that TensorFlow has opened in a Go file system, by number.
var (
	goFiles    sync.Map // uint64 -> *remote.File
	lastGoFile atomic.Uint64
)

// registeredSchemes are the schemes of Go file systems that TensorFlow has.
var registeredSchemes struct {
	sync.Mutex
	has map[string]bool
}

// ownScheme stands before the scheme of a path that TensorFlow would read itself: its
// wheel has a file system for gs, which cannot be replaced.
const ownScheme = "millrace-"

// wheelSchemes are the schemes that TensorFlow's wheel has.
var wheelSchemes = map[string]bool{"gs": true, "ram": true, "file": true}

// RegisterFileSystems lets TensorFlow's operations read the paths of all schemes that are
// registered with package remote. It does nothing for schemes that TensorFlow has already.
// Loaders call it. A program that gives such paths to its own operations calls it after
// [Open] and before the first run. It may be called concurrently.
//
// It wraps TF_RegisterFilesystemPlugin.
func RegisterFileSystems() error {
	if err := ensure(); err != nil {
		return err
	}
	r := &registeredSchemes
	r.Lock()
	defer r.Unlock()
	if r.has == nil {
		r.has = map[string]bool{}
	}
	for _, scheme := range remote.Default.Schemes() {
		name := fileSystemScheme(scheme)
		if r.has[name] {
			continue
		}
		var cs cstrings
		err := check("TF_RegisterFilesystemPlugin", func(st *C.TF_Status) { C.mr_register_filesystem(cs.add(name), st) })
		cs.free()
		if err != nil {
			return millrace.Errorf(millrace.ErrRuntime, "register a file system for %s://: %w", scheme, err)
		}
		r.has[name] = true
	}
	return nil
}

// fileSystemScheme returns the scheme under which TensorFlow has a Go file system.
func fileSystemScheme(scheme string) string {
	if wheelSchemes[scheme] {
		return ownScheme + scheme
	}
	return scheme
}

// FileSystemPath returns the path by which operations read a file that package remote
// reads: the path itself, except for gs, which TensorFlow's wheel has itself. Other
// paths stay as they are.
func FileSystemPath(path string) string {
	scheme, ok := remote.SchemeOf(path)
	if !ok || !wheelSchemes[scheme] || !remote.Default.Reads(path) {
		return path
	}
	return ownScheme + path
}

// goPath returns the path that package remote knows.
func goPath(path *C.char) string { return ownName(C.GoString(path)) }

// ownName returns the path from which FileSystemPath has made another.
func ownName(path string) string { return strings.TrimPrefix(path, ownScheme) }

// TF_InitPlugin describes a Go file system. TensorFlow calls it during
// [RegisterFileSystems].
//
//export TF_InitPlugin
func TF_InitPlugin(info unsafe.Pointer) { C.mr_init_plugin(info) }

//export mrFileOpen
func mrFileOpen(path *C.char, st *C.TF_Status) C.uintptr_t {
	f, err := remote.Default.OpenShared(goPath(path))
	if err != nil {
		setFileStatus(st, err)
		return 0
	}
	number := lastGoFile.Add(1)
	goFiles.Store(number, f)
	setFileStatus(st, nil)
	return C.uintptr_t(number)
}

//export mrFileRead
func mrFileRead(number C.uintptr_t, offset C.uint64_t, n C.size_t, to *C.char, st *C.TF_Status) C.int64_t {
	f, ok := goFiles.Load(uint64(number))
	if !ok {
		setFileStatus(st, millrace.Errorf(millrace.ErrInternal, "a file that is not open"))
		return 0
	}
	got, err := f.(*remote.File).ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(to)), int(n)), int64(offset))
	setFileStatus(st, err)
	return C.int64_t(got)
}

//export mrFileClose
func mrFileClose(number C.uintptr_t) {
	if f, ok := goFiles.LoadAndDelete(uint64(number)); ok {
		f.(*remote.File).Close()
	}
}

//export mrFileStat
func mrFileStat(path *C.char, s *C.mr_stat, st *C.TF_Status) {
	info, err := remote.Default.StatShared(goPath(path))
	if err == nil {
		s.size, s.mtime_nsec = C.int64_t(info.Size), C.int64_t(info.ModTime.UnixNano())
	}
	setFileStatus(st, err)
}

// setFileStatus sets a status by a Go error, which the failed run wraps.
func setFileStatus(st *C.TF_Status, err error) {
	code, msg := OK, ""
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		code, msg = OutOfRange, "end of file"
	default:
		code, msg = remember(err)
		if errors.Is(err, fs.ErrNotExist) {
			code = NotFound
		} else if errors.Is(err, fs.ErrPermission) {
			code = PermissionDenied
		}
	}
	var cs cstrings
	defer cs.free()
	C.mr_set_status(st, C.int(code), cs.add(msg))
}
