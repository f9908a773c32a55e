package tfbridge

// #include "capi.h"
import "C"

// LoadLibrary loads a shared object that registers operations and kernels,
// which every graph can use from then on. It stays loaded. Loading runs the
// library's code: it can do whatever this process can.
//
// Load libraries before anything else uses TensorFlow: the dynamic linker and
// TensorFlow's registries each hold a lock that the other may wait for, so a
// graph that is made at the same time can stop both for good.
//
// It wraps TF_LoadLibrary.
func LoadLibrary(path string) error {
	if err := ensure(); err != nil {
		return err
	}
	return loadLibrary(path)
}

func loadLibrary(path string) error {
	if err := checkNames("library", path); err != nil {
		return err
	}
	var cs cstrings
	defer cs.free()
	return check("TF_LoadLibrary", func(st *C.TF_Status) {
		if lib := C.TF_LoadLibrary(cs.add(path), st); lib != nil {
			C.TF_DeleteLibraryHandle(lib) // frees the handle, not the library
		}
	})
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
