package output

// DType is an element type, by TensorFlow's name in Python.
type DType string

// The element types that can be written.
const (
	Bool       DType = "bool"
	Int8       DType = "int8"
	Int16      DType = "int16"
	Int32      DType = "int32"
	Int64      DType = "int64"
	Uint8      DType = "uint8"
	Uint16     DType = "uint16"
	Uint32     DType = "uint32"
	Uint64     DType = "uint64"
	Float16    DType = "float16"
	Bfloat16   DType = "bfloat16"
	Float32    DType = "float32"
	Float64    DType = "float64"
	Complex64  DType = "complex64"
	Complex128 DType = "complex128"
	String     DType = "string"
)

// dtypes holds the size of an element in bytes, 0 for strings.
var dtypes = map[DType]int{
	Bool: 1, Int8: 1, Int16: 2, Int32: 4, Int64: 8,
	Uint8: 1, Uint16: 2, Uint32: 4, Uint64: 8,
	Float16: 2, Bfloat16: 2, Float32: 4, Float64: 8,
	Complex64: 8, Complex128: 16, String: 0,
}

// Size returns the bytes of one element, 0 for strings and unknown types.
func (d DType) Size() int { return dtypes[d] }
