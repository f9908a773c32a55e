// Package dtype knows TensorFlow's data types: their numbers, names and sizes,
// and how large a tensor of a data type and shape is.
//
//	d, ok := dtype.Parse("float32")
//	n, bytes, err := dtype.ByteSize(d, []int64{32, 784}) // 25088 elements, 100352 bytes
//	spec := dtype.TensorSpec{Name: "image", DType: d, Shape: dtype.MakeShape(-1, 784)}
//	fmt.Println(spec) // float32[?, 784]
//
// It is pure Go and needs no runtime, so that what reads a model or a config
// uses the same types as what runs them. Package tfbridge has its names too:
// tfbridge.Float is dtype.Float.
package dtype
