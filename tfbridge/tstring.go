package tfbridge

// #include "capi.h"
import "C"

import (
	"runtime"
	"unsafe"

	"millrace"
	"millrace/dtype"
)

// packSize is the number of bytes of strings that one C call copies, unless a single
// string is longer.
const packSize = 1 << 20

// NewStringTensor returns a tensor with copies of values, in row-major order.
// Strings may hold any bytes.
//
// It wraps TF_NewTensor and TF_StringCopy.
func NewStringTensor[S ~string | ~[]byte](shape []int64, values []S) (*Tensor, error) {
	return newStrings(shape, len(values), func(i int) string {
		// Strings and byte slices both begin with pointer and length; a conversion
		// would copy.
		return *(*string)(unsafe.Pointer(&values[i]))
	})
}

// newStrings returns a tensor of n strings, string i being at(i).
func newStrings(shape []int64, n int, at func(i int) string) (*Tensor, error) {
	want, err := dtype.Elements(shape)
	if err != nil {
		return nil, err
	}
	if int64(n) != want {
		return nil, millrace.Errorf(millrace.ErrSchema, "shape %v of string needs %d elements, got %d", shape, want, n)
	}
	t, err := newTensor(String, shape)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(t)
	p := packer{t: t, packed: make([]byte, 0, min(packSize, 32*n+64)), ends: make([]int64, 0, min(n, packSize/16))}
	for i := range n {
		p.add(at(i))
	}
	p.flush()
	t.h.account(p.long)
	return t, nil
}

// packer copies many strings with one C call, because a C call costs more than
// copying a typical string.
type packer struct {
	t      *Tensor
	first  int64 // element index of the first packed string
	packed []byte
	ends   []int64
	long   int64 // bytes of strings that TensorFlow stores outside the tensor
}

// longString is the length from which TensorFlow stores a string outside of its
// 24 bytes in the tensor.
const longString = C.MR_LONG_STRING

// add appends one string.
func (p *packer) add(s string) {
	if len(p.ends) > 0 && (len(p.packed)+len(s) > packSize || len(p.ends) == cap(p.ends)) {
		p.flush()
	}
	if len(s) >= longString {
		p.long += int64(len(s))
	}
	p.packed = append(p.packed, s...)
	p.ends = append(p.ends, int64(len(p.packed)))
}

// flush copies the packed strings into the tensor.
func (p *packer) flush() {
	if len(p.ends) == 0 {
		return
	}
	C.mr_set_strings(p.t.h.ptr(), C.int64_t(p.first), C.int64_t(len(p.ends)),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(p.packed))), (*C.int64_t)(unsafe.SliceData(p.ends)))
	p.first += int64(len(p.ends))
	p.packed, p.ends = p.packed[:0], p.ends[:0]
}

// Strings returns copies of the elements, in row-major order. All share one allocation;
// use strings.Clone to keep only a few of them. A concurrent Close takes effect after
// Strings, or before it, and then Strings returns an error of class millrace.ErrClosed.
//
// It wraps TF_StringGetSize and TF_StringGetDataPointer.
func (t *Tensor) Strings() ([]string, error) {
	if err := t.holdStrings(); err != nil {
		return nil, err
	}
	defer t.h.release()
	return t.stringsHeld(), nil
}

// stringsHeld is Strings for a tensor of strings to which the caller holds a
// reference.
func (t *Tensor) stringsHeld() []string {
	out := make([]string, t.n)
	if t.n == 0 {
		return out
	}
	ends := make([]int64, t.n)
	C.mr_string_ends(t.h.p, C.int64_t(t.n), (*C.int64_t)(unsafe.SliceData(ends)))
	packed := make([]byte, ends[t.n-1])
	C.mr_pack_strings(t.h.p, C.int64_t(t.n), (*C.char)(unsafe.Pointer(unsafe.SliceData(packed))))
	all := unsafe.String(unsafe.SliceData(packed), len(packed)) // packed is not changed any more
	at := int64(0)
	for i, end := range ends {
		out[i], at = all[at:end], end
	}
	return out
}

// StringAt returns a copy of element i, in row-major order. Close may be called
// concurrently, as with Strings.
//
// It wraps TF_StringGetSize and TF_StringGetDataPointer.
func (t *Tensor) StringAt(i int64) (string, error) {
	if err := t.holdStrings(); err != nil {
		return "", err
	}
	defer t.h.release()
	if i < 0 || i >= t.n {
		return "", millrace.Errorf(millrace.ErrSchema, "no element %d in a tensor of %d", i, t.n)
	}
	var n C.size_t
	p := C.mr_string(t.h.p, C.int64_t(i), &n)
	return string(unsafe.Slice((*byte)(unsafe.Pointer(p)), n)), nil
}

// holdStrings takes a reference to t, which the caller releases. It returns an
// error if t is not an open tensor of strings.
func (t *Tensor) holdStrings() error {
	if t == nil || !t.h.hold() {
		return errUnusable("tensor", t)
	}
	if t.dtype != String {
		t.h.release()
		return millrace.Errorf(millrace.ErrSchema, "a tensor of type %v holds no strings", t.dtype)
	}
	return nil
}
