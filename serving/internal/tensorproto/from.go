package tensorproto

import (
	"encoding/binary"
	"math"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// Tensor returns the tensor that a message describes. The caller closes it.
//
// A message of fewer values than elements is filled up with its last value, or with
// zeros if it has none; surplus values are ignored. So a few bytes can claim any amount
// of memory: a tensor of more than maxBytes is an error of class millrace.ErrLimit.
// Other errors are of class millrace.ErrSchema.
func Tensor(p *tfproto.TensorProto, maxBytes int64) (*tfbridge.Tensor, error) {
	dt := tfbridge.DataType(p.GetDtype())
	if !dt.Known() || tfbridge.TypeOf(dt, nil) == nil {
		return nil, millrace.Errorf(millrace.ErrSchema, "a tensor of type %v cannot be sent", p.GetDtype())
	}
	shape, err := shapeOf(p.GetTensorShape())
	if err != nil {
		return nil, err
	}
	n, size, err := dtype.ByteSize(dt, shape)
	if err != nil {
		return nil, err
	}
	if size > maxBytes {
		return nil, millrace.Errorf(millrace.ErrLimit, "a tensor of type %v and shape %v takes %d bytes, %d are allowed", dt, shape, size, maxBytes)
	}
	switch {
	case dt == tfbridge.String && len(p.TensorContent) > 0:
		values, err := stringContent(p.TensorContent, n)
		if err != nil {
			return nil, err
		}
		return tfbridge.NewStringTensor(shape, values)
	case dt == tfbridge.String:
		return stringTensor(shape, p.StringVal, n, maxBytes)
	case len(p.TensorContent) > 0:
		return tfbridge.NewTensorFromBytes(dt, shape, p.TensorContent)
	}
	raw, err := values(dt, p, size)
	if err != nil {
		return nil, err
	}
	return tfbridge.NewTensorFromBytes(dt, shape, raw)
}

// shapeOf returns the dimensions of a message, all of which must be known.
func shapeOf(p *tfproto.TensorShapeProto) ([]int64, error) {
	if p.GetUnknownRank() {
		return nil, millrace.Errorf(millrace.ErrSchema, "the tensor has no shape")
	}
	shape := make([]int64, len(p.GetDim()))
	for i, d := range p.GetDim() {
		if shape[i] = d.GetSize(); shape[i] < 0 {
			return nil, millrace.Errorf(millrace.ErrSchema, "dimension %d of the tensor is %d", i, shape[i])
		}
	}
	return shape, nil
}

// stringTensor returns a tensor of n strings, the last of which is repeated.
func stringTensor(shape []int64, given [][]byte, n, maxBytes int64) (*tfbridge.Tensor, error) {
	values := given[:min(int64(len(given)), n)]
	if len(values) > 0 {
		last := values[len(values)-1]
		missing := n - int64(len(values))
		if missing > 0 && int64(len(last)) > maxBytes/missing {
			return nil, millrace.Errorf(millrace.ErrLimit, "a string of %d bytes repeated %d times takes more than the %d bytes that are allowed", len(last), missing, maxBytes)
		}
		for range missing {
			values = append(values, last)
		}
		return tfbridge.NewStringTensor(shape, values)
	}
	return tfbridge.AllocateTensor(tfbridge.String, shape)
}

// stringContent returns n strings. Their lengths come first, as varints.
func stringContent(content []byte, n int64) ([][]byte, error) {
	wrong := func() error {
		return millrace.Errorf(millrace.ErrSchema, "the content of the tensor does not hold %d strings", n)
	}
	if n > int64(len(content)) {
		return nil, wrong()
	}
	lengths := make([]uint64, n)
	for i := range lengths {
		length, used := binary.Uvarint(content)
		if used <= 0 {
			return nil, wrong()
		}
		lengths[i], content = length, content[used:]
	}
	values := make([][]byte, n)
	for i, length := range lengths {
		if length > uint64(len(content)) {
			return nil, wrong()
		}
		values[i], content = content[:length], content[length:]
	}
	if len(content) > 0 {
		return nil, wrong()
	}
	return values, nil
}

// values returns the elements of a message in the machine's byte order, size bytes
// in all.
func values(dt tfbridge.DataType, p *tfproto.TensorProto, size int64) ([]byte, error) {
	order := binary.NativeEndian
	e := elements{raw: make([]byte, 0, size), width: dt.Size(), size: int(size)}
	switch dt {
	case tfbridge.Float:
		each(&e, p.FloatVal, func(b []byte, v float32) []byte { return order.AppendUint32(b, math.Float32bits(v)) })
	case tfbridge.Double:
		each(&e, p.DoubleVal, func(b []byte, v float64) []byte { return order.AppendUint64(b, math.Float64bits(v)) })
	case tfbridge.Complex64:
		each(&e, pairs(p.ScomplexVal), func(b []byte, v [2]float32) []byte {
			return order.AppendUint32(order.AppendUint32(b, math.Float32bits(v[0])), math.Float32bits(v[1]))
		})
	case tfbridge.Complex128:
		each(&e, pairs(p.DcomplexVal), func(b []byte, v [2]float64) []byte {
			return order.AppendUint64(order.AppendUint64(b, math.Float64bits(v[0])), math.Float64bits(v[1]))
		})
	case tfbridge.Int64:
		each(&e, p.Int64Val, func(b []byte, v int64) []byte { return order.AppendUint64(b, uint64(v)) })
	case tfbridge.Uint64:
		each(&e, p.Uint64Val, order.AppendUint64)
	case tfbridge.Uint32:
		each(&e, p.Uint32Val, order.AppendUint32)
	case tfbridge.Bool:
		each(&e, p.BoolVal, func(b []byte, v bool) []byte {
			if v {
				return append(b, 1)
			}
			return append(b, 0)
		})
	case tfbridge.Half, tfbridge.Bfloat16:
		each(&e, p.HalfVal, func(b []byte, v int32) []byte { return order.AppendUint16(b, uint16(v)) })
	default:
		if !e.ints(p.IntVal) {
			return nil, millrace.Errorf(millrace.ErrSchema, "values of type %v are only taken as tensor_content", dt)
		}
	}
	return e.filled(), nil
}

// elements collects the elements of a tensor of size bytes.
type elements struct {
	raw         []byte
	width, size int
}

// each appends values until the tensor is full.
func each[T any](e *elements, given []T, put func([]byte, T) []byte) {
	for _, v := range given[:min(len(given), e.size/e.width)] {
		e.raw = put(e.raw, v)
	}
}

// ints appends values of a type of up to 32 bits. It reports false for others.
func (e *elements) ints(given []int32) bool {
	order := binary.NativeEndian
	switch e.width {
	case 1:
		each(e, given, func(b []byte, v int32) []byte { return append(b, byte(v)) })
	case 2:
		each(e, given, func(b []byte, v int32) []byte { return order.AppendUint16(b, uint16(v)) })
	case 4:
		each(e, given, func(b []byte, v int32) []byte { return order.AppendUint32(b, uint32(v)) })
	default:
		return false
	}
	return true
}

// filled returns the elements, with the last one repeated to the end.
func (e *elements) filled() []byte {
	last := e.raw[max(len(e.raw)-e.width, 0):]
	if len(last) == 0 {
		return e.raw[:e.size] // zeros
	}
	for len(e.raw) < e.size {
		e.raw = append(e.raw, last...)
	}
	return e.raw
}

// pairs returns the numbers of a list two by two.
func pairs[T any](list []T) [][2]T {
	all := make([][2]T, len(list)/2)
	for i := range all {
		all[i] = [2]T(list[2*i:])
	}
	return all
}
