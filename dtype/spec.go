package dtype

// TensorSpec describes a tensor before it is computed: its name, data type and shape.
// It is a plain value; the zero TensorSpec has no data type and an unknown shape.
type TensorSpec struct {
	Name  string // name of the tensor; "" if it has none
	DType DataType
	Shape Shape
}

// String returns data type and shape without the name: "float32[2, ?]", and
// "float32[...]" if the number of dimensions is unknown.
func (t TensorSpec) String() string {
	if t.Shape.NumDimensions() < 0 {
		return t.DType.String() + "[...]"
	}
	return t.DType.String() + t.Shape.String()
}
