// Package dtype knows TensorFlow's data types: their numbers, names and sizes, and the
// size of a tensor of a data type and shape.
//
//	d, ok := dtype.Parse("float32")
//	n, bytes, err := dtype.ByteSize(d, []int64{32, 784}) // 25088 elements, 100352 bytes
//	spec := dtype.TensorSpec{Name: "image", DType: d, Shape: dtype.MakeShape(-1, 784)}
//	fmt.Println(spec) // float32[?, 784]
//
// It is pure Go and needs no runtime, so that code that reads a model or a config uses
// the same types as code that runs them. Package tfbridge re-exports its names:
// tfbridge.Float is dtype.Float.
package dtype
