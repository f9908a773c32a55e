package tfbridge

// #cgo LDFLAGS: -ldl
// #include "capi.h"
import "C"

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"millrace"
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/preflight"
	"millrace/internal/base/runtimedir"
)

// The versions of TensorFlow that this binding accepts: 2.21 and its patches.
const (
	versionPrefix = "2.21."
	versionRange  = "2.21.x"
)

// RuntimeOptions are the options of Open. Nil and the zero value mean the
// defaults.
type RuntimeOptions struct {
	// Dir is the directory of libtensorflow, or the parent of its lib. Empty means the
	// environment variable MILLRACE_RUNTIME or, if that is not set, the directory where
	// "millrace runtime install" puts the library.
	Dir string
	// Verbose makes TensorFlow write its log to stderr from the first line on.
	// It also shows the last message of a library that ends the process while
	// it opens.
	Verbose bool
	// MaxBlocking is the number of calls that may block in TensorFlow at once; further
	// calls wait. Each holds a thread. It must exceed the number of runs that wait for
	// another run, for example at a queue. 0 means 64.
	MaxBlocking int
	// Deterministic makes every operation of the process give the same result
	// each time, at a cost in speed. Operations that cannot do so fail, and so
	// do random operations without a seed. The program remains responsible for
	// the order of operations with side effects, such as two that read from
	// one queue.
	//
	// It sets TF_DETERMINISTIC_OPS for TensorFlow, not in Go's environment.
	Deterministic bool
	// MemoryLimit is how many bytes the tensors of the process may take together; 0
	// means no limit. What an operation asks for beyond it fails with
	// ResourceExhausted, and so does what the machine does not have at that moment;
	// without a limit, the kernel ends the process. Strings, tables and Go's memory do
	// not count. The library of our own operations enforces it; without the library it
	// has no effect.
	MemoryLimit int64
}

// Runtime is the opened libtensorflow. A process has one, and it stays open.
type Runtime struct {
	dir, version string
	prelinked    bool

	operations    string // path of the library of our own operations
	operationsErr error  // why it could not be loaded
	memoryLimit   int64

	plugging sync.Mutex      // held while a plug-in is loaded
	plugins  map[string]bool // plug-ins by path
}

// Dir returns the directory that the libraries were opened from.
func (r *Runtime) Dir() string { return r.dir }

// Prelinked reports whether the libraries are prelinked copies, which "millrace runtime
// install" makes because they open faster. Open uses the originals if the copies are
// missing or changed, or if the environment variable MILLRACE_PRELINKED is false.
func (r *Runtime) Prelinked() bool { return r.prelinked }

// Operations returns the path of the library of Millrace's own dataset operations,
// which Open loads. The path is "" if there is no library for this runtime. The error
// is the reason why it could not be loaded.
func (r *Runtime) Operations() (path string, err error) { return r.operations, r.operationsErr }

// HasOperations reports whether the library of Millrace's own dataset
// operations is loaded.
func (r *Runtime) HasOperations() bool { return r.operations != "" && r.operationsErr == nil }

// Version returns TensorFlow's version: "2.21.0".
func (r *Runtime) Version() string { return r.version }

// deterministicOps is the variable that TensorFlow reads before it chooses a
// kernel.
const deterministicOps = "TF_DETERMINISTIC_OPS"

var (
	opening  sync.Mutex              // held while opening
	opened   atomic.Pointer[Runtime] // set once
	blocking = make(limiter, defaultBlocking)
)

// Open opens libtensorflow, once in a process. Later calls return the same
// runtime; they ignore their options, except that another directory is an error.
// After an error Open may be called again with another directory.
//
// Errors are of class millrace.ErrRuntime. Open also checks for conditions under which
// TensorFlow would end the process: a system limit that is too low is an error of class
// millrace.ErrLimit, and an environment variable that TensorFlow cannot parse an error
// of class millrace.ErrConfig.
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
	if o.Deterministic {
		setC(deterministicOps, "1")
	}
	if err := lib.open(o.Verbose); err != nil {
		return nil, err
	}
	if o.MaxBlocking > 0 {
		blocking = make(limiter, o.MaxBlocking)
	}
	r := &Runtime{dir: lib.dir, prelinked: lib.prelinked, version: C.GoString(C.TF_Version())}
	registerErr = registerOps()
	if err := registerChecks(); err != nil {
		return nil, err
	}
	if r.operations = oplibrary.Find(r.dir, r.version); r.operations != "" {
		r.operationsErr = loadOperations(r.operations) // before other goroutines can use TensorFlow
	}
	r.limitMemory(o.MemoryLimit)
	opened.Store(r)
	return r, nil
}

// loadOperations loads the library of our own operations if it matches its build.
func loadOperations(path string) error {
	if err := oplibrary.Verify(path); err != nil {
		return millrace.Errorf(millrace.ErrRuntime, "%w", err)
	}
	_, err := loadLibrary(path)
	return err
}

// FindRuntime returns the directory that Open would open the libraries from,
// without opening them.
func FindRuntime(o *RuntimeOptions) (dir string, err error) {
	if o == nil {
		o = &RuntimeOptions{}
	}
	lib, err := find(o.Dir)
	if err != nil {
		return "", err
	}
	return lib.dir, nil
}

// Version returns TensorFlow's version, and opens the runtime if necessary. It
// returns "" if there is no runtime.
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

// open opens the libraries and checks them.
func (l *library) open(verbose bool) error {
	if err := runtimedir.CheckCPU(); err != nil {
		return err
	}
	if err := preflight.Check(lookupC); err != nil {
		return err
	}
	known, err := l.verify()
	if err != nil {
		return err
	}
	load := func() error { return l.load(known) }
	if verbose {
		return load()
	}
	quiet()
	return holdStderr(load)
}

// load opens the libraries in C and checks the version. If the libraries are not
// known to belong together, the dynamic linker resolves all functions at once:
// otherwise a function that one of them lacks would end the process later.
func (l *library) load(known bool) error {
	var cs cstrings
	defer cs.free()
	if msg := C.mr_open(cs.add(l.framework), cs.add(l.main), C.int(cbool(!known))); msg != nil {
		defer C.free(unsafe.Pointer(msg))
		return errBroken(l.dir, errors.New(printable(C.GoString(msg))))
	}
	if v := C.GoString(C.TF_Version()); !strings.HasPrefix(v, versionPrefix) {
		return errBroken(l.dir, errors.New("it is version "+printable(v)+", need "+versionRange))
	}
	return nil
}
