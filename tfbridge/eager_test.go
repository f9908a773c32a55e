package tfbridge

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

// newTestContext returns a context, closed with the test.
func newTestContext(t *testing.T, o *ContextOptions) *Context {
	t.Helper()
	testruntime.Need(t)
	c, err := NewContext(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestContextDevices(t *testing.T) {
	for _, o := range []*ContextOptions{nil, {}, {Async: true}, {Config: []byte("\x28\x01")}} {
		devices, err := newTestContext(t, o).ListDevices()
		if err != nil || len(devices) == 0 || devices[0].Type != "CPU" || !strings.Contains(devices[0].Name, "CPU:0") {
			t.Errorf("devices with %+v: %v, %v", o, devices, err)
		}
	}
	if c, err := NewContext(&ContextOptions{Config: []byte("\xff\xff")}); err == nil {
		c.Close()
		t.Error("garbage was taken for a ConfigProto")
	}
}

func TestTensorHandles(t *testing.T) {
	testruntime.Need(t)
	for _, value := range []any{float32(2), []int64{1, 2, 3}, [][]string{{"a", ""}, {"long enough to lie elsewhere", "\x00"}}, [][][]bool{{{true}}}, []float32{}} {
		t.Run(fmt.Sprintf("%T", value), func(t *testing.T) {
			x := newTestTensor(t, value)
			th, err := NewTensorHandle(x)
			if err != nil {
				t.Fatal(err)
			}
			defer th.Close()
			dtype, shape, n := x.DataType(), x.Shape(), x.NumElements()
			x.Close() // the handle shares the memory
			if got := th.DataType(); got != dtype {
				t.Errorf("type: got %v, want %v", got, dtype)
			}
			if got, err := th.Shape(); err != nil || !reflect.DeepEqual(got, shape) {
				t.Errorf("shape: got %v, %v, want %v", got, err, shape)
			}
			if got, err := th.NumElements(); err != nil || got != n {
				t.Errorf("elements: got %d, %v, want %d", got, err, n)
			}
			for _, name := range []func() (string, error){th.DeviceName, th.BackingDeviceName} {
				if got, err := name(); err != nil || !strings.HasSuffix(got, "device:CPU:0") {
					t.Errorf("device: got %q, %v", got, err)
				}
			}
			back, err := th.ToTensor()
			if err != nil {
				t.Fatal(err)
			}
			defer back.Close()
			th.Close()
			if got := back.Value(); !reflect.DeepEqual(got, value) {
				t.Errorf("back again: got %v, want %v", got, value)
			}
		})
	}
}

func TestCopyToDevice(t *testing.T) {
	for _, o := range []*ContextOptions{nil, {Async: true}} {
		c := newTestContext(t, o)
		devices, err := c.ListDevices()
		if err != nil {
			t.Fatal(err)
		}
		th, err := NewTensorHandle(newTestTensor(t, []int32{4, 5}))
		if err != nil {
			t.Fatal(err)
		}
		defer th.Close()
		dup, err := th.CopyToDevice(c, devices[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		c.Close() // the copy stays valid
		th.Close()
		x, err := dup.ToTensor()
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Value(); !reflect.DeepEqual(got, []int32{4, 5}) {
			t.Errorf("the copy: got %v", got)
		}
		x.Close()
		dup.Close()
	}
}

func TestCopyToDeviceRefuses(t *testing.T) {
	c := newTestContext(t, nil)
	closed := newTestContext(t, nil)
	closed.Close()
	th, err := NewTensorHandle(newTestTensor(t, int32(1)))
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	tests := []struct {
		name   string
		th     *TensorHandle
		c      *Context
		device string
		class  error
	}{
		{"nil context", th, nil, "", millrace.ErrClosed},
		{"closed context", th, closed, "", millrace.ErrClosed},
		{"nil handle", nil, c, "", millrace.ErrClosed},
		{"unknown device", th, c, "/device:GPU:99", millrace.ErrModel},
		{"no device name", th, c, "a b", millrace.ErrModel},
		{"NUL", th, c, "\x00", millrace.ErrModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if dup, err := tt.th.CopyToDevice(tt.c, tt.device); dup != nil || !errors.Is(err, tt.class) {
				t.Errorf("got %v, %v, want class %v", dup, err, tt.class)
			}
		})
	}
	for _, x := range []*Tensor{nil, {}} {
		if th, err := NewTensorHandle(x); th != nil || !errors.Is(err, millrace.ErrClosed) {
			t.Errorf("a handle on nothing: %v, %v", th, err)
		}
	}
}

// Many goroutines read handles while they are closed.
func TestTensorHandleHammer(t *testing.T) {
	testruntime.Need(t)
	for range 50 {
		th, err := NewTensorHandle(newTestTensor(t, []string{"x"}))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				x, err := th.ToTensor()
				if err != nil && !errors.Is(err, millrace.ErrClosed) {
					t.Error(err)
				}
				x.Close()
			})
		}
		th.Close()
		wg.Wait()
	}
}
