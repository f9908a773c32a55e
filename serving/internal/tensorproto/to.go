package tensorproto

import (
	"bytes"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// Proto returns a tensor as a message with its values in the field of their type,
// as TensorFlow Serving answers. With content, numbers are in tensor_content,
// which is faster.
func Proto(t *tfbridge.Tensor, content bool) (*tfproto.TensorProto, error) {
	p := &tfproto.TensorProto{Dtype: tfproto.DataType(t.DataType()), TensorShape: &tfproto.TensorShapeProto{}}
	for _, n := range t.Shape() {
		p.TensorShape.Dim = append(p.TensorShape.Dim, &tfproto.TensorShapeProto_Dim{Size: n})
	}
	if t.DataType() == tfbridge.String {
		values, err := t.Strings()
		p.StringVal = make([][]byte, len(values))
		for i, v := range values {
			p.StringVal[i] = []byte(v)
		}
		return p, err
	}
	if !content {
		if done, err := setValues(p, t); done || err != nil {
			return p, err
		}
	}
	raw, err := t.Bytes()
	p.TensorContent = bytes.Clone(raw)
	return p, err
}

// setValues stores the values in the field of their type. It reports false for a
// type that has none.
func setValues(p *tfproto.TensorProto, t *tfbridge.Tensor) (done bool, err error) {
	switch t.DataType() {
	case tfbridge.Float:
		p.FloatVal, err = list(t, func(v float32) float32 { return v })
	case tfbridge.Double:
		p.DoubleVal, err = list(t, func(v float64) float64 { return v })
	case tfbridge.Int64:
		p.Int64Val, err = list(t, func(v int64) int64 { return v })
	case tfbridge.Uint64:
		p.Uint64Val, err = list(t, func(v uint64) uint64 { return v })
	case tfbridge.Uint32:
		p.Uint32Val, err = list(t, func(v uint32) uint32 { return v })
	case tfbridge.Bool:
		p.BoolVal, err = list(t, func(v bool) bool { return v })
	case tfbridge.Int32:
		p.IntVal, err = list(t, func(v int32) int32 { return v })
	case tfbridge.Int16:
		p.IntVal, err = list(t, func(v int16) int32 { return int32(v) })
	case tfbridge.Int8:
		p.IntVal, err = list(t, func(v int8) int32 { return int32(v) })
	case tfbridge.Uint16:
		p.IntVal, err = list(t, func(v uint16) int32 { return int32(v) })
	case tfbridge.Uint8:
		p.IntVal, err = list(t, func(v uint8) int32 { return int32(v) })
	case tfbridge.Half, tfbridge.Bfloat16:
		p.HalfVal, err = list(t, func(v uint16) int32 { return int32(v) })
	case tfbridge.Complex64:
		view, failed := tfbridge.View[complex64](t)
		for _, v := range view {
			p.ScomplexVal = append(p.ScomplexVal, real(v), imag(v))
		}
		err = failed
	case tfbridge.Complex128:
		view, failed := tfbridge.View[complex128](t)
		for _, v := range view {
			p.DcomplexVal = append(p.DcomplexVal, real(v), imag(v))
		}
		err = failed
	default:
		return false, nil
	}
	return true, err
}

// list returns the elements of a tensor as another type.
func list[From, To any](t *tfbridge.Tensor, convert func(From) To) ([]To, error) {
	view, err := tfbridge.View[From](t)
	if err != nil {
		return nil, err
	}
	all := make([]To, len(view))
	for i, v := range view {
		all[i] = convert(v)
	}
	return all, nil
}
