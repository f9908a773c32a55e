package bytecheck

import (
	"millrace"
	"millrace/dtype"
)

// sparse checks serialized sparse tensors: indices, values and shape, one after the
// other. TensorFlow refuses an input of another form before it reads it.
func (s Spec) sparse(elements [][]byte) (int, error) {
	for i := 0; i+2 < len(elements); i += 3 {
		indices, values, shape := &header{}, &header{}, &header{wantInts: true}
		if err := s.tensor(elements[i], dtype.Int64, indices); err != nil {
			return i, err
		}
		if err := s.tensor(elements[i+1], s.DType, values); err != nil {
			return i + 1, err
		}
		if err := s.tensor(elements[i+2], dtype.Int64, shape); err != nil {
			return i + 2, err
		}
		if err := sparseShapes(indices, values, shape); err != nil {
			return i, err
		}
		dims := shape.int64s()
		if _, err := dtype.Elements(dims); err != nil {
			return i + 2, refused(millrace.ErrSchema, "a sparse tensor of shape %v: %w", dims, err)
		}
	}
	return 0, nil
}

// sparseShapes checks that the parts of a sparse tensor fit: indices [n, rank],
// values [n], shape [rank].
func sparseShapes(indices, values, shape *header) error {
	if len(indices.dims) == 2 && len(values.dims) == 1 && len(shape.dims) == 1 &&
		indices.dims[0] == values.dims[0] && indices.dims[1] == shape.dims[0] && shape.dims[0] < dtype.MaxRank {
		return nil
	}
	return refused(millrace.ErrSchema, "a sparse tensor of indices %v, values %v and shape %v: want [n, rank], [n] and [rank]", indices.dims, values.dims, shape.dims)
}
