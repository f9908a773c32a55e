package openinference

import (
	"encoding/binary"
	"math"

	"millrace"
	"millrace/dtype"
	"millrace/tfbridge"
)

// lengthBytes is the size of the length before each element of BYTES.
const lengthBytes = 4

// Tensor returns a tensor of the binary form: the elements in row-major order, little-endian,
// and each element of BYTES after its length. The caller closes it.
func Tensor(dt tfbridge.DataType, shape []int64, raw []byte) (*tfbridge.Tensor, error) {
	n, size, err := dtype.ByteSize(dt, shape)
	if err != nil {
		return nil, err
	}
	if dt != tfbridge.String {
		if size != int64(len(raw)) {
			return nil, millrace.Errorf(millrace.ErrSchema, "shape %v of %v takes %d bytes, got %d", shape, dt, size, len(raw))
		}
		return tfbridge.NewTensorFromBytes(dt, shape, raw)
	}
	texts, err := texts(raw, n)
	if err != nil {
		return nil, err
	}
	return tfbridge.NewStringTensor(shape, texts)
}

// texts returns n elements of BYTES.
func texts(raw []byte, n int64) ([][]byte, error) {
	if n > int64(len(raw)/lengthBytes) {
		return nil, millrace.Errorf(millrace.ErrSchema, "%d bytes cannot hold %d elements of BYTES", len(raw), n)
	}
	all := make([][]byte, 0, n)
	for len(raw) > 0 {
		if len(raw) < lengthBytes {
			return nil, millrace.Errorf(millrace.ErrSchema, "%d bytes follow the last element of BYTES", len(raw))
		}
		length := binary.LittleEndian.Uint32(raw)
		raw = raw[lengthBytes:]
		if uint64(length) > uint64(len(raw)) {
			return nil, millrace.Errorf(millrace.ErrSchema, "an element of BYTES claims %d bytes, and %d are left", length, len(raw))
		}
		all, raw = append(all, raw[:length]), raw[length:]
		if int64(len(all)) > n {
			break
		}
	}
	if int64(len(all)) != n {
		return nil, millrace.Errorf(millrace.ErrSchema, "the binary data does not hold the %d elements of the shape", n)
	}
	return all, nil
}

// BinarySize returns how many bytes the binary form of a tensor takes.
func BinarySize(t *tfbridge.Tensor) (int64, error) {
	if t.DataType() != tfbridge.String {
		return t.ByteSize(), nil
	}
	texts, err := t.Strings()
	n := int64(0)
	for _, text := range texts {
		n += lengthBytes + int64(len(text))
	}
	return n, err
}

// AppendBinary appends the binary form of a tensor.
func AppendBinary(b []byte, t *tfbridge.Tensor) ([]byte, error) {
	if t.DataType() != tfbridge.String {
		raw, err := t.Bytes()
		return append(b, raw...), err
	}
	texts, err := t.Strings()
	for _, text := range texts {
		if len(text) > math.MaxUint32 {
			return nil, millrace.Errorf(millrace.ErrLimit, "an element of %d bytes is too long for BYTES", len(text))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	return b, err
}
