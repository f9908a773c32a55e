package numbers

import (
	"fmt"
	"slices"

	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// OneHotArgs are the arguments of a step of type one_hot.
type OneHotArgs struct {
	decl.Object
	Depth    int64            `json:"depth" decl:"required,min=1,limit=2147483647" doc:"How many classes there are: the size of the new last axis."`
	OnValue  processing.Value `json:"on_value" decl:"" doc:"The value at the position of a class, of the dtype. The default is 1."`
	OffValue processing.Value `json:"off_value" decl:"" doc:"The value at all other positions, of the dtype. The default is 0."`
	DType    string           `json:"dtype" decl:"default=float32" doc:"The data type of the result."`
}

// hot are checked arguments.
type hot struct {
	depth   int32
	on, off any
	dtype   dtype.DataType
}

// values reads the arguments.
func (a *OneHotArgs) values(c *processing.Context) (h hot, ok bool) {
	if a.At == nil || a.Bad("depth", "on_value", "off_value", "dtype") {
		return h, false
	}
	if h.dtype, ok = c.DType(a.Key("dtype"), a.DType); !ok {
		return h, false
	}
	if processing.KindOf(h.dtype) == processing.StringKind && (a.OnValue == nil || a.OffValue == nil) {
		c.Report(a.Key("dtype"), "string needs on_value and off_value")
		return h, false
	}
	var also bool
	h.depth = int32(a.Depth)
	h.on, ok = c.Value(a.Key("on_value"), a.OnValue, h.dtype)
	h.off, also = c.Value(a.Key("off_value"), a.OffValue, h.dtype)
	if a.OnValue == nil {
		h.on = processing.OneValue(h.dtype)
		if h.dtype == dtype.Bool {
			h.on = true
		}
	}
	return h, ok && also
}

// classes returns the tensor of classes that the step reads.
func classes(c *processing.Context) (processing.Input, bool) {
	return c.OneOf("uint8, int8, int32 or int64", dtype.Uint8, dtype.Int8, dtype.Int32, dtype.Int64)
}

func (h hot) String() string {
	return fmt.Sprintf("depth %d, %s, %v and %v", h.depth, h.dtype, h.on, h.off)
}

func (h hot) add(b *processing.Site, x tfbridge.Output) tfbridge.Output {
	return b.Op1("OneHot", nil, x, b.Const(h.depth), b.Scalar(h.on, h.dtype), b.Scalar(h.off, h.dtype))
}

// Check returns a step that adds an axis of the classes.
func (a *OneHotArgs) Check(c *processing.Context) processing.Step {
	h, ok := a.values(c)
	t, known := classes(c)
	if !ok || !known {
		return nil
	}
	shape := append(slices.Clone(t.Shape), int64(h.depth))
	return processing.Map{What: h.String(), To: processing.Tensor{DType: h.dtype, Shape: shape}, Func: h.add}
}
