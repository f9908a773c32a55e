package graph

import (
	"millrace/dtype"
	"millrace/tfbridge"
)

// Spec is the data type and the shape of a tensor, as TensorFlow infers them. The
// outputs of operations have no name.
type Spec = dtype.TensorSpec

// SpecOf returns the spec of an output. The zero Output, which building gives
// after a failure, has the zero Spec.
func SpecOf(o tfbridge.Output) Spec {
	if o.Op == nil {
		return Spec{}
	}
	return Spec{DType: o.DataType(), Shape: o.Shape()}
}

// SpecsOf returns the specs of outputs.
func SpecsOf(outputs []tfbridge.Output) []Spec {
	specs := make([]Spec, len(outputs))
	for i, o := range outputs {
		specs[i] = SpecOf(o)
	}
	return specs
}

// DTypes returns the data types of specs, as attributes such as output_types
// want them.
func DTypes(specs []Spec) []tfbridge.DataType {
	types := make([]tfbridge.DataType, len(specs))
	for i, p := range specs {
		types[i] = p.DType
	}
	return types
}

// Shapes returns the shapes of specs, as attributes such as output_shapes want
// them.
func Shapes(specs []Spec) []tfbridge.Shape {
	shapes := make([]tfbridge.Shape, len(specs))
	for i, p := range specs {
		shapes[i] = p.Shape
	}
	return shapes
}
