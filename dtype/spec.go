package dtype

// TensorSpec is what is known of a tensor before it is there: its name, data
// type and shape. It is a plain value; the zero TensorSpec has no data type and
// a shape of which nothing is known.
type TensorSpec struct {
	Name  string // what callers call the tensor; "" where it has no name
	DType DataType
	Shape Shape
}

// String returns data type and shape without the name: "float32[2, ?]", and
// "float32[...]" if not even the number of dimensions is known.
func (t TensorSpec) String() string {
	if t.Shape.NumDimensions() < 0 {
		return t.DType.String() + "[...]"
	}
	return t.DType.String() + t.Shape.String()
}
