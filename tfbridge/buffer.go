package tfbridge

// #include "capi.h"
import "C"

import (
	"math"
	"strings"
	"unsafe"

	"millrace"
)

// maxProto is the largest possible protobuf message.
const maxProto = math.MaxInt32

// bufferBytes makes one C call that fills a buffer, and copies the buffer.
func bufferBytes(fn string, call func(*C.TF_Buffer, *C.TF_Status)) ([]byte, error) {
	buf := C.TF_NewBuffer()
	defer C.TF_DeleteBuffer(buf)
	if err := check(fn, func(st *C.TF_Status) { call(buf, st) }); err != nil {
		return nil, err
	}
	return copyBuffer(buf), nil
}

// copyBuffer returns a copy of a buffer's contents. C.GoBytes would truncate at 2 GiB.
func copyBuffer(buf *C.TF_Buffer) []byte {
	if buf.data == nil {
		return nil
	}
	return append([]byte(nil), unsafe.Slice((*byte)(buf.data), int(buf.length))...)
}

// cstrings makes C strings of Go strings; free frees them all.
type cstrings struct{ all []*C.char }

// add returns s as a C string, which lives until free.
func (c *cstrings) add(s string) *C.char {
	p := C.CString(s)
	c.all = append(c.all, p)
	return p
}

// addAll returns C strings for all of a list, nil for an empty one.
func (c *cstrings) addAll(list []string) []*C.char {
	var out []*C.char
	for _, s := range list {
		out = append(out, c.add(s))
	}
	return out
}

// free frees every string.
func (c *cstrings) free() {
	for _, p := range c.all {
		C.free(unsafe.Pointer(p))
	}
	c.all = nil
}

// checkNames refuses names with zero bytes, at which C would truncate them.
func checkNames(what string, names ...string) error {
	for _, s := range names {
		if strings.ContainsRune(s, 0) {
			return millrace.Errorf(millrace.ErrModel, "%s %q holds a NUL", what, s)
		}
	}
	return nil
}
