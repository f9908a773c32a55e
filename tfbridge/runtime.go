package tfbridge

// #cgo LDFLAGS: -ldl
// #include "capi.h"
import "C"

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"millrace"
)

// The versions of TensorFlow that this binding accepts: 2.21 and its patches.
const (
	versionPrefix = "2.21."
	versionRange  = "2.21.x"
	defaultName   = "2.21.0"
)

// RuntimeEnv names the environment variable that says where the runtime is.
const RuntimeEnv = "MILLRACE_RUNTIME"

const frameworkFile = "libtensorflow_framework.so.2"

// mainFiles are the names of the main library, in TensorFlow's Python package
// and in its C package.
var mainFiles = []string{"libtensorflow_cc.so.2", "libtensorflow.so.2"}

// RuntimeOptions say which runtime to open and how.
type RuntimeOptions struct {
	// Dir holds libtensorflow, in itself or in lib. If it is empty it is taken
	// from the environment variable MILLRACE_RUNTIME, and then from where
	// "millrace runtime install" puts it.
	Dir string
	// Verbose lets TensorFlow write its log to stderr.
	Verbose bool
	// MaxBlocking is how many calls may block in TensorFlow at a time, each
	// of which holds a thread; others wait. 0 means 64.
	MaxBlocking int
}

// Runtime is libtensorflow, opened. There is one a process, and it stays open.
type Runtime struct {
	dir, version string
}

// Dir returns the directory that the libraries were opened from.
func (r *Runtime) Dir() string { return r.dir }

// Version returns TensorFlow's version: "2.21.0".
func (r *Runtime) Version() string { return r.version }

var (
	opening  sync.Mutex              // held while opening
	opened   atomic.Pointer[Runtime] // set once
	blocking = make(limiter, defaultBlocking)
)

// Open opens libtensorflow, once a process: later calls return the same
// runtime, and fail if they name another directory. Their other options are
// ignored. A failure is of class millrace.ErrRuntime, and Open may be tried
// again with another directory.
//
// It wraps dlopen, and TF_Version.
func Open(o *RuntimeOptions) (*Runtime, error) {
	opening.Lock()
	defer opening.Unlock()
	if o == nil {
		o = &RuntimeOptions{}
	}
	if r := opened.Load(); r != nil {
		return r, r.checkSame(o)
	}
	lib, err := find(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := lib.open(o.Verbose); err != nil {
		return nil, err
	}
	if o.MaxBlocking > 0 {
		blocking = make(limiter, o.MaxBlocking)
	}
	r := &Runtime{dir: lib.dir, version: C.GoString(C.TF_Version())}
	opened.Store(r)
	return r, nil
}

// Version returns the version of TensorFlow in use, which it opens if need be;
// it is empty if there is none.
func Version() string {
	r, err := Open(nil)
	if err != nil {
		return ""
	}
	return r.version
}

// ensure opens the runtime if it is not open yet.
func ensure() error {
	if opened.Load() != nil {
		return nil
	}
	_, err := Open(nil)
	return err
}

// checkSame fails when o names another directory than the runtime's.
func (r *Runtime) checkSame(o *RuntimeOptions) error {
	if o.Dir == "" {
		return nil
	}
	lib, err := find(o.Dir)
	if err != nil {
		return err
	}
	if lib.dir != r.dir {
		return millrace.Errorf(millrace.ErrRuntime, "open TensorFlow in %s: this process uses the one in %s already", millrace.Quote(lib.dir), millrace.Quote(r.dir))
	}
	return nil
}

// library is where a runtime's files are.
type library struct {
	dir, framework, main string
}

// find looks for the runtime's files without opening them.
func find(dir string) (*library, error) {
	if dir == "" {
		dir = os.Getenv(RuntimeEnv)
	}
	if dir != "" {
		return findIn(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, errMissing("the user's cache directory", err)
	}
	base := filepath.Join(cache, "millrace", "runtime", defaultName)
	lib, err := findIn(base + "-cpu")
	if err == nil {
		return lib, nil
	}
	if cuda, cudaErr := findIn(base + "-cuda"); cudaErr == nil {
		return cuda, nil
	}
	return nil, err
}

// findIn looks for the runtime's files in one directory and in its lib.
func findIn(dir string) (*library, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, errMissing(dir, err)
	}
	for _, d := range []string{abs, filepath.Join(abs, "lib")} {
		framework := filepath.Join(d, frameworkFile)
		if !isFile(framework) {
			continue
		}
		for _, name := range mainFiles {
			if file := filepath.Join(d, name); isFile(file) {
				return &library{dir: abs, framework: framework, main: file}, nil
			}
		}
	}
	return nil, errMissing(abs, errors.New("no "+frameworkFile+" and "+mainFiles[0]+" there"))
}

// isFile reports whether path is a regular file or a link to one.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// open opens the libraries and checks what they are.
func (l *library) open(verbose bool) error {
	for _, path := range []string{l.framework, l.main} {
		if err := checkELF(path); err != nil {
			return errBroken(path, err)
		}
	}
	if verbose {
		return l.load()
	}
	quiet()
	return holdStderr(l.load)
}

// load makes the C call and checks the version.
func (l *library) load() error {
	var cs cstrings
	defer cs.free()
	if msg := C.mr_open(cs.add(l.framework), cs.add(l.main)); msg != nil {
		defer C.free(unsafe.Pointer(msg))
		return errBroken(l.dir, errors.New(printable(C.GoString(msg))))
	}
	if v := C.GoString(C.TF_Version()); !strings.HasPrefix(v, versionPrefix) {
		return millrace.Errorf(millrace.ErrRuntime, "TensorFlow in %s is version %s, need %s: type: millrace runtime install", millrace.Quote(l.dir), v, versionRange)
	}
	return nil
}

// errMissing is the failure to find the runtime.
func errMissing(where string, err error) error {
	return millrace.Errorf(millrace.ErrRuntime, "TensorFlow %s not found in %s (%w); to install it, type: millrace runtime install; to use another copy, set %s to its directory", versionRange, millrace.Quote(where), err, RuntimeEnv)
}

// errBroken is the failure to open the runtime's files.
func errBroken(where string, err error) error {
	return millrace.Errorf(millrace.ErrRuntime, "open TensorFlow %s in %s: %w; to install it again, type: millrace runtime install", versionRange, millrace.Quote(where), err)
}
