package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"runtime"

	"millrace"
)

// TensorHandle is a tensor on a device. The tensor may not be computed yet:
// every method except DataType and Close waits for it. It may be used by many
// goroutines at a time. Close frees it.
type TensorHandle struct {
	h *handle[*C.TFE_TensorHandle]
}

// NewTensorHandle returns a handle on t in the memory of this machine, shared
// with t; either may be closed first.
//
// It wraps TFE_NewTensorHandle.
func NewTensorHandle(t *Tensor) (*TensorHandle, error) {
	if t == nil || !t.h.hold() {
		return nil, errUnusable("tensor", t)
	}
	defer t.h.release()
	var p *C.TFE_TensorHandle
	err := check("TFE_NewTensorHandle", func(st *C.TF_Status) { p = C.TFE_NewTensorHandle(t.h.p, st) })
	if err != nil {
		return nil, err
	}
	return adoptTensorHandle(p, nil), nil
}

// adoptTensorHandle makes a TensorHandle that owns p. It also owns a reference
// to c, the context of p's device, if c is not nil.
func adoptTensorHandle(p *C.TFE_TensorHandle, c *handle[*C.TFE_Context]) *TensorHandle {
	th := &TensorHandle{}
	th.h = own(th, kindTensorHandle, p, func(p *C.TFE_TensorHandle) {
		C.TFE_DeleteTensorHandle(p)
		if c != nil {
			c.release()
		}
	})
	return th
}

// hold takes a reference, which the caller gives back with th.h.release.
func (th *TensorHandle) hold() error {
	if th == nil || !th.h.hold() {
		return errUnusable("tensor handle", th)
	}
	return nil
}

// call makes one C call that may wait for the tensor.
func (th *TensorHandle) call(fn string, call func(*C.TFE_TensorHandle, *C.TF_Status)) error {
	if err := th.hold(); err != nil {
		return err
	}
	defer th.h.release()
	if err := blocking.acquire(context.Background(), nil); err != nil {
		return err
	}
	defer blocking.release()
	return check(fn, func(st *C.TF_Status) { call(th.h.p, st) })
}

// Close frees the handle.
//
// It wraps TFE_DeleteTensorHandle.
func (th *TensorHandle) Close() error {
	if th == nil {
		return nil
	}
	return th.h.Close()
}

// DataType returns the type of the elements, 0 after Close. It does not wait.
//
// It wraps TFE_TensorHandleDataType.
func (th *TensorHandle) DataType() DataType {
	if th.hold() != nil {
		return 0
	}
	defer th.h.release()
	return DataType(C.TFE_TensorHandleDataType(th.h.p))
}

// Shape returns the dimensions, nil for a scalar.
//
// It wraps TFE_TensorHandleNumDims and TFE_TensorHandleDim.
func (th *TensorHandle) Shape() ([]int64, error) {
	var rank C.int
	err := th.call("TFE_TensorHandleNumDims", func(p *C.TFE_TensorHandle, st *C.TF_Status) {
		rank = C.TFE_TensorHandleNumDims(p, st)
	})
	if err != nil {
		return nil, err
	}
	var dims []int64
	for i := range rank {
		err := th.call("TFE_TensorHandleDim", func(p *C.TFE_TensorHandle, st *C.TF_Status) {
			dims = append(dims, int64(C.TFE_TensorHandleDim(p, i, st)))
		})
		if err != nil {
			return nil, err
		}
	}
	return dims, nil
}

// NumElements returns the product of the dimensions.
//
// It wraps TFE_TensorHandleNumElements.
func (th *TensorHandle) NumElements() (n int64, err error) {
	err = th.call("TFE_TensorHandleNumElements", func(p *C.TFE_TensorHandle, st *C.TF_Status) {
		n = int64(C.TFE_TensorHandleNumElements(p, st))
	})
	return n, err
}

// DeviceName returns the device that made the tensor, or that it was copied to:
// "/job:localhost/replica:0/task:0/device:CPU:0".
//
// It wraps TFE_TensorHandleDeviceName.
func (th *TensorHandle) DeviceName() (name string, err error) {
	err = th.call("TFE_TensorHandleDeviceName", func(p *C.TFE_TensorHandle, st *C.TF_Status) {
		name = C.GoString(C.TFE_TensorHandleDeviceName(p, st))
	})
	return name, err
}

// BackingDeviceName returns the device in whose memory the tensor is.
//
// It wraps TFE_TensorHandleBackingDeviceName.
func (th *TensorHandle) BackingDeviceName() (name string, err error) {
	err = th.call("TFE_TensorHandleBackingDeviceName", func(p *C.TFE_TensorHandle, st *C.TF_Status) {
		name = C.GoString(C.TFE_TensorHandleBackingDeviceName(p, st))
	})
	return name, err
}

// ToTensor returns the tensor in the memory of this machine, copied if it is on
// another device, and otherwise shared with the handle. The caller closes it.
//
// It wraps TFE_TensorHandleResolve.
func (th *TensorHandle) ToTensor() (*Tensor, error) {
	if dt := th.DataType(); dt != 0 && goType(dt) == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "Go cannot read the contents of a tensor of type %v", dt)
	}
	var t *C.TF_Tensor
	err := th.call("TFE_TensorHandleResolve", func(p *C.TFE_TensorHandle, st *C.TF_Status) {
		t = C.TFE_TensorHandleResolve(p, st)
	})
	if err != nil {
		return nil, err
	}
	return adoptTensor(t), nil
}

// CopyToDevice returns a handle on a copy in the memory of a device of c, named as in
// ListDevices. If th is already there, the two handles share the memory. One of the two
// devices must be a CPU. The copy keeps the context until it is closed.
//
// It wraps TFE_TensorHandleCopyToDevice.
func (th *TensorHandle) CopyToDevice(c *Context, device string) (*TensorHandle, error) {
	if err := checkNames("device", device); err != nil {
		return nil, err
	}
	if err := c.hold(); err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(c)
	var cs cstrings
	defer cs.free()
	var out *C.TFE_TensorHandle
	err := th.call("TFE_TensorHandleCopyToDevice", func(p *C.TFE_TensorHandle, st *C.TF_Status) {
		out = C.TFE_TensorHandleCopyToDevice(p, c.h.p, cs.add(device), st)
	})
	if err != nil {
		c.h.release()
		return nil, err
	}
	return adoptTensorHandle(out, c.h), nil
}
