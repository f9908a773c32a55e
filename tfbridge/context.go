package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"unsafe"
)

// Context knows the devices that eager tensors can be on. It may be used by
// many goroutines at a time. Close frees it.
type Context struct {
	h *handle[*C.TFE_Context]
}

// ContextOptions are the options of [NewContext]. Nil and the zero value mean the
// defaults.
type ContextOptions struct {
	// Config is a serialized ConfigProto message.
	Config []byte
	// Async allows operations to return before they are done.
	Async bool
}

// c checks the options and converts them to a C object, which the caller frees.
func (o *ContextOptions) c() (*C.TFE_ContextOptions, error) {
	opts := C.TFE_NewContextOptions()
	if o == nil {
		return opts, nil
	}
	err := check("TFE_ContextOptionsSetConfig", func(st *C.TF_Status) {
		C.TFE_ContextOptionsSetConfig(opts, unsafe.Pointer(unsafe.SliceData(o.Config)), C.size_t(len(o.Config)), st)
	})
	if err != nil {
		C.TFE_DeleteContextOptions(opts)
		return nil, err
	}
	C.TFE_ContextOptionsSetAsync(opts, cbool(o.Async))
	return opts, nil
}

// NewContext returns a context.
//
// It wraps TFE_NewContext.
func NewContext(o *ContextOptions) (*Context, error) {
	if err := ensure(); err != nil {
		return nil, err
	}
	opts, err := o.c()
	if err != nil {
		return nil, err
	}
	defer C.TFE_DeleteContextOptions(opts)
	if err := blocking.acquire(context.Background(), nil); err != nil {
		return nil, err
	}
	defer blocking.release()
	var p *C.TFE_Context
	if err := check("TFE_NewContext", func(st *C.TF_Status) { p = C.TFE_NewContext(opts, st) }); err != nil {
		return nil, err
	}
	c := &Context{}
	c.h = own(c, kindContext, p, func(p *C.TFE_Context) { C.TFE_DeleteContext(p) })
	return c, nil
}

// hold takes a reference, which the caller gives back with c.h.release.
func (c *Context) hold() error {
	if c == nil || !c.h.hold() {
		return errUnusable("context", c)
	}
	return nil
}

// Close frees the context once the tensors on its devices are closed too.
//
// It wraps TFE_DeleteContext.
func (c *Context) Close() error {
	if c == nil {
		return nil
	}
	return c.h.Close()
}

// ListDevices returns the devices of the context.
//
// It wraps TFE_ContextListDevices.
func (c *Context) ListDevices() ([]Device, error) {
	if err := c.hold(); err != nil {
		return nil, err
	}
	defer c.h.release()
	var list *C.TF_DeviceList
	err := check("TFE_ContextListDevices", func(st *C.TF_Status) { list = C.TFE_ContextListDevices(c.h.p, st) })
	if err != nil {
		return nil, err
	}
	defer C.TF_DeleteDeviceList(list)
	return devices(list)
}
