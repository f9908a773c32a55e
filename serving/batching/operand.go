package batching

import (
	"encoding/binary"

	"millrace"
	"millrace/dtype"
	"millrace/tfbridge"
)

// Rows are rows of a tensor of numbers or bools in Go memory.
type Rows struct {
	DType tfbridge.DataType
	Shape []int64 // the first dimension is the number of rows
	Bytes []byte  // the elements in row-major order and the machine's byte order; a bool is 0 or 1
}

// operand is an input of a request: a tensor, or rows in Go memory.
type operand struct {
	isTensor bool
	tensor   *tfbridge.Tensor
	bytes    []byte // set if it is not a tensor
	dtype    tfbridge.DataType
	shape    []int64
}

// tensorOperand returns the operand of a tensor, which may be nil.
func tensorOperand(t *tfbridge.Tensor) operand {
	return operand{isTensor: true, tensor: t, dtype: t.DataType(), shape: t.Shape()}
}

// operand returns the operand of rows. The error describes a fault in them.
func (r *Rows) operand() (operand, error) {
	if r.DType.Size() == 0 {
		return operand{}, millrace.Errorf(millrace.ErrSchema, "elements of type %v have no bytes", r.DType)
	}
	_, size, err := dtype.ByteSize(r.DType, r.Shape)
	if err == nil && size != int64(len(r.Bytes)) {
		err = millrace.Errorf(millrace.ErrSchema, "shape %v of %v needs %d bytes, got %d", r.Shape, r.DType, size, len(r.Bytes))
	}
	return operand{bytes: r.Bytes, dtype: r.DType, shape: r.Shape}, err
}

// copied returns a new tensor with the elements of the operand.
func (o *operand) copied() (*tfbridge.Tensor, error) {
	return filled(o.dtype, o.shape, func(to *tfbridge.Tensor) error { return o.copyTo(to, 0, 0, elements(o.shape)) })
}

// copyTo copies n elements, beginning with element start, over the elements of a
// tensor that begin with element at.
func (o *operand) copyTo(to *tfbridge.Tensor, at, start, n int64) error {
	if o.isTensor {
		return to.CopyElements(at, o.tensor, start, n)
	}
	all, err := to.Bytes()
	if err != nil {
		return err
	}
	size := int64(o.dtype.Size())
	copy(all[at*size:], o.bytes[start*size:(start+n)*size])
	return nil
}

// ints returns a copy of the elements of an operand of whole numbers.
func (o *operand) ints() ([]int64, error) {
	raw := o.bytes
	if o.isTensor {
		var err error
		if raw, err = o.tensor.Bytes(); err != nil {
			return nil, err
		}
	}
	var all []int64
	if o.dtype == tfbridge.Int32 {
		for i := 0; i < len(raw); i += 4 {
			all = append(all, int64(int32(binary.NativeEndian.Uint32(raw[i:]))))
		}
		return all, nil
	}
	for i := 0; i < len(raw); i += 8 {
		all = append(all, int64(binary.NativeEndian.Uint64(raw[i:])))
	}
	return all, nil
}

// intTensor returns a tensor of whole numbers.
func intTensor(dt tfbridge.DataType, shape, values []int64) (*tfbridge.Tensor, error) {
	var raw []byte
	for _, v := range values {
		if dt == tfbridge.Int32 {
			raw = binary.NativeEndian.AppendUint32(raw, uint32(v))
		} else {
			raw = binary.NativeEndian.AppendUint64(raw, uint64(v))
		}
	}
	return tfbridge.NewTensorFromBytes(dt, shape, raw)
}

// elements returns the product of dimensions.
func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// filled returns a new tensor that a function has filled.
func filled(dt tfbridge.DataType, shape []int64, fill func(to *tfbridge.Tensor) error) (*tfbridge.Tensor, error) {
	to, err := tfbridge.AllocateTensor(dt, shape)
	if err != nil {
		return nil, err
	}
	if err := fill(to); err != nil {
		to.Close()
		return nil, err
	}
	return to, nil
}
