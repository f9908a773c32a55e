package opgen

import (
	"fmt"
	"strings"

	"millrace/internal/base/tfproto"
)

// dtype returns TensorFlow's Python name of a data type.
func dtype(d tfproto.DataType) string {
	name := strings.ToLower(strings.TrimPrefix(d.String(), "DT_"))
	switch name {
	case "float":
		return "float32"
	case "double":
		return "float64"
	case "half":
		return "float16"
	}
	return name
}

// value returns an attribute's value as a comment shows it.
func value(v *tfproto.AttrValue) string {
	switch v := v.Value.(type) {
	case *tfproto.AttrValue_S:
		return fmt.Sprintf("%q", v.S)
	case *tfproto.AttrValue_I:
		return fmt.Sprint(v.I)
	case *tfproto.AttrValue_F:
		return fmt.Sprint(v.F)
	case *tfproto.AttrValue_B:
		return fmt.Sprint(v.B)
	case *tfproto.AttrValue_Type:
		return dtype(v.Type)
	case *tfproto.AttrValue_Shape:
		return shape(v.Shape)
	case *tfproto.AttrValue_Tensor:
		return "a tensor of " + dtype(v.Tensor.Dtype)
	case *tfproto.AttrValue_Func:
		return "the function " + v.Func.Name
	case *tfproto.AttrValue_List:
		return "[" + strings.Join(listValues(v.List), ", ") + "]"
	}
	return "unknown"
}

// listValues returns the values of a list. Only one of its fields is set.
func listValues(l *tfproto.AttrValue_ListValue) []string {
	var out []string
	for _, s := range l.S {
		out = append(out, fmt.Sprintf("%q", s))
	}
	for _, i := range l.I {
		out = append(out, fmt.Sprint(i))
	}
	for _, f := range l.F {
		out = append(out, fmt.Sprint(f))
	}
	for _, b := range l.B {
		out = append(out, fmt.Sprint(b))
	}
	for _, t := range l.Type {
		out = append(out, dtype(t))
	}
	for _, s := range l.Shape {
		out = append(out, shape(s))
	}
	for range l.Tensor {
		out = append(out, "a tensor")
	}
	for _, f := range l.Func {
		out = append(out, "the function "+f.Name)
	}
	return out
}

// shape returns a shape as package tfbridge prints it.
func shape(s *tfproto.TensorShapeProto) string {
	if s.UnknownRank {
		return "an unknown shape"
	}
	dims := make([]string, len(s.Dim))
	for i, d := range s.Dim {
		if dims[i] = "?"; d.Size >= 0 {
			dims[i] = fmt.Sprint(d.Size)
		}
	}
	return "[" + strings.Join(dims, ", ") + "]"
}

// either joins values by commas and an or.
func either(values []string) string {
	last := len(values) - 1
	if last < 1 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
