package tfbridge

// #include "capi.h"
import "C"

import "fmt"

// Device is something that runs operations.
type Device struct {
	Name             string // "/job:localhost/replica:0/task:0/device:CPU:0"
	Type             string // "CPU"
	MemoryLimitBytes int64
}

// String returns the device in brackets, as TensorFlow's own binding does.
func (d Device) String() string {
	if d.MemoryLimitBytes < 0 {
		return fmt.Sprintf("(Device: name %q, type %s, no memory limit)", d.Name, d.Type)
	}
	return fmt.Sprintf("(Device: name %q, type %s, memory limit %d bytes)", d.Name, d.Type, d.MemoryLimitBytes)
}

// devices copies a list of devices.
func devices(list *C.TF_DeviceList) ([]Device, error) {
	out := make([]Device, C.TF_DeviceListCount(list))
	for i := range out {
		d, n := &out[i], C.int(i)
		err := check("TF_DeviceListName", func(st *C.TF_Status) { d.Name = C.GoString(C.TF_DeviceListName(list, n, st)) })
		if err != nil {
			return nil, err
		}
		err = check("TF_DeviceListType", func(st *C.TF_Status) { d.Type = C.GoString(C.TF_DeviceListType(list, n, st)) })
		if err != nil {
			return nil, err
		}
		err = check("TF_DeviceListMemoryBytes", func(st *C.TF_Status) {
			d.MemoryLimitBytes = int64(C.TF_DeviceListMemoryBytes(list, n, st))
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
