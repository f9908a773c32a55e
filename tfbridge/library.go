package tfbridge

// #include "capi.h"
// #include <dlfcn.h>
// #include <stdint.h>
// #include <stdlib.h>
//
// // limit_memory returns 0 if the library, which is open, has no such function.
// static int limit_memory(const char *library, int64_t bytes) {
//   void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
//   if (!handle) return 0;
//   void (*limit)(int64_t) = (void (*)(int64_t))dlsym(handle, "MillraceLimitMemory");
//   if (limit) limit(bytes);
//   dlclose(handle);
//   return limit != NULL;
// }
import "C"

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
	"millrace/internal/base/opstamp"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/runtimedir"
	"millrace/internal/base/wire"
)

// Library is a shared object that was loaded into TensorFlow. It cannot be
// unloaded, and there is nothing to close.
type Library struct {
	// Path is the file that it was loaded from.
	Path string
	// Ops are the sorted names of the operations that it registered. If the library was
	// loaded before, they are the operations that it registered then.
	Ops []string
	// OpList holds their definitions, a serialized OpList message.
	OpList []byte
}

// LibraryHandler is the name of Library in TensorFlow's own binding.
type LibraryHandler = Library

// LoadLibrary loads a shared object that registers operations and kernels. Every graph
// can use them from then on. The library stays loaded. Loading runs its code, which can
// do whatever this process can. A file that is truncated, for another machine or not a
// library is an error of class millrace.ErrRuntime.
//
// A library that "millrace ops build" compiled for another minor version of TensorFlow
// is not loaded: the C++ interface differs, so its behaviour would be undefined.
//
// Load libraries before anything else uses TensorFlow. The dynamic linker and
// TensorFlow's registries each hold a lock that the other may wait for, so
// making a graph at the same time can deadlock.
//
// It wraps TF_LoadLibrary and TF_GetOpList.
func LoadLibrary(path string) (*Library, error) {
	if err := ensure(); err != nil {
		return nil, err
	}
	if err := checkStamp(path); err != nil {
		return nil, err
	}
	return loadLibrary(path)
}

// checkStamp refuses a library whose stamp names another version. loadLibrary refuses
// files that are not libraries.
func checkStamp(path string) error {
	stamp, ok, err := opstamp.Read(path)
	if err != nil || !ok || stamp.Fits(opened.Load().version) {
		return nil
	}
	return errLibrary(path, fmt.Errorf("it was built for TensorFlow %s, and this is %s: type millrace ops build in its folder", printable(stamp.TensorFlow), opened.Load().version))
}

func loadLibrary(path string) (*Library, error) {
	if err := checkLibrary(path); err != nil {
		return nil, err
	}
	var cs cstrings
	defer cs.free()
	l := &Library{Path: path}
	err := check("TF_LoadLibrary", func(st *C.TF_Status) {
		if lib := C.TF_LoadLibrary(cs.add(path), st); lib != nil {
			list := C.TF_GetOpList(lib)
			l.OpList = copyBuffer(&list)
			C.TF_DeleteLibraryHandle(lib) // frees the handle, not the library
		}
	})
	if err != nil {
		return nil, errLibrary(path, err)
	}
	if l.Ops, err = opNames(l.OpList); err != nil {
		return nil, err
	}
	return l, nil
}

// checkLibrary refuses a file on which the dynamic linker would crash. It does
// not check a name without a folder, which the linker searches for.
func checkLibrary(path string) error {
	if err := checkNames("library", path); err != nil {
		return err
	}
	if filepath.Base(path) == path {
		return nil
	}
	if err := checkWhole(path); err != nil {
		return errLibrary(path, err)
	}
	if err := runtimedir.CheckELF(path); err != nil {
		return errLibrary(path, err)
	}
	return nil
}

// errLibrary returns the error about a library that could not be loaded.
func errLibrary(path string, err error) error {
	var tf *Error
	if !errors.As(err, &tf) {
		var perr *fs.PathError
		if errors.As(err, &perr) {
			err = perr.Err
		}
		e := millrace.Errorf(millrace.ErrRuntime, "load library: %w", err)
		e.File = path
		return e
	}
	return &millrace.Error{Class: millrace.ErrRuntime, Op: "load library", File: path, Record: -1, Offset: -1, Code: int(tf.Code), Err: tf}
}

// The fields used of OpList and OpDef.
const (
	opListOp  = 1
	opDefName = 1
)

// opNames returns the names in an OpList message.
func opNames(list []byte) ([]string, error) {
	var names []string
	ok := wire.Each(list, func(num protowire.Number, v []byte, _ uint64) bool {
		return num != opListOp || wire.Each(v, func(num protowire.Number, v []byte, _ uint64) bool {
			if num == opDefName {
				names = append(names, string(v))
			}
			return true
		})
	})
	if !ok {
		return nil, millrace.Errorf(millrace.ErrInternal, "TensorFlow's list of operations is damaged")
	}
	slices.Sort(names)
	return names, nil
}

// pluginSymbols are the functions that TensorFlow calls in a plug-in. It ignores
// a library that has none of them.
var pluginSymbols = []string{"SE_InitPlugin", "TFNPD_InitPlugin", "TF_InitKernel", "TF_InitGraph", "TF_InitProfiler"}

// LoadPluggableDeviceLibrary loads a plug-in with devices, kernels or graph
// optimizers. It stays loaded. Only sessions made afterwards have its devices, so
// load it before anything else. Loading runs the library's code. A library with
// none of the functions that TensorFlow calls in a plug-in is an error of class
// millrace.ErrRuntime. A plug-in that is already loaded is not loaded again.
//
// It wraps TF_LoadPluggableDeviceLibrary.
func LoadPluggableDeviceLibrary(path string) error {
	r, err := Open(nil)
	if err != nil {
		return err
	}
	if filepath.Base(path) == path {
		return errLibrary(path, errors.New("the path must have a folder"))
	}
	if err := checkLibrary(path); err != nil {
		return err
	}
	if err := checkPlugin(path); err != nil {
		return errLibrary(path, err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return errLibrary(path, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return errLibrary(path, err)
	}
	return r.plug(path)
}

// plug loads a plug-in at most once: TensorFlow would initialize it again.
func (r *Runtime) plug(path string) error {
	r.plugging.Lock()
	defer r.plugging.Unlock()
	if r.plugins[path] {
		return nil
	}
	var cs cstrings
	defer cs.free()
	err := check("TF_LoadPluggableDeviceLibrary", func(st *C.TF_Status) {
		if lib := C.TF_LoadPluggableDeviceLibrary(cs.add(path), st); lib != nil {
			C.TF_DeletePluggableDeviceLibraryHandle(lib)
		}
	})
	if err != nil {
		return errLibrary(path, err)
	}
	if r.plugins == nil {
		r.plugins = map[string]bool{}
	}
	r.plugins[path] = true
	return nil
}

// checkPlugin returns an error if a library has none of pluginSymbols.
func checkPlugin(path string) error {
	f, err := regularfile.OpenELF(path)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && slices.Contains(pluginSymbols, s.Name) {
			return nil
		}
	}
	return errors.New("not a TensorFlow plug-in: it has none of their functions, such as SE_InitPlugin")
}

// OpList returns all operation types as a serialized OpList message.
//
// It wraps TF_GetAllOpList.
func OpList() ([]byte, error) {
	if err := ensure(); err != nil {
		return nil, err
	}
	buf := C.TF_GetAllOpList()
	defer C.TF_DeleteBuffer(buf)
	return copyBuffer(buf), nil
}

// RegisteredKernels returns the kernels of an operation type as a serialized
// KernelList message, which is empty if there are none.
//
// It wraps TF_GetRegisteredKernelsForOp.
func RegisteredKernels(opType string) ([]byte, error) {
	if err := ensure(); err != nil {
		return nil, err
	}
	if err := checkNames("operation type", opType); err != nil {
		return nil, err
	}
	var cs cstrings
	defer cs.free()
	var list []byte
	err := check("TF_GetRegisteredKernelsForOp", func(st *C.TF_Status) {
		if buf := C.TF_GetRegisteredKernelsForOp(cs.add(opType), st); buf != nil {
			list = copyBuffer(buf)
			C.TF_DeleteBuffer(buf)
		}
	})
	return list, err
}

// MemoryLimit returns the limit in bytes for the tensors of this process, or 0 if there
// is none: see [RuntimeOptions].
func (r *Runtime) MemoryLimit() int64 { return r.memoryLimit }

// limitMemory sets the limit for tensors. Open calls it before TensorFlow makes its
// first tensor: TensorFlow chooses its allocator then.
func (r *Runtime) limitMemory(bytes int64) {
	if bytes <= 0 || !r.HasOperations() {
		return
	}
	var cs cstrings
	defer cs.free()
	if C.limit_memory(cs.add(r.operations), C.int64_t(bytes)) != 0 {
		r.memoryLimit = bytes
	}
}
