package rpc

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/dtype"
	"millrace/internal/base/inferenceproto"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// A lease grows by these estimates before the memory is allocated.

// The memory of a message in addition to its fields, the largest memory of a list
// element or an unpacked number, and the depth to which messages are examined.
const messageBytes, elementBytes, maxDepth = 96, 32, 50

// parsedBytes returns the memory of a parsed message, given its serialized form. A list
// of empty messages takes 60 times its bytes. The parser finds the errors in a message.
func parsedBytes(message protoreflect.MessageDescriptor, text []byte, depth int) int64 {
	if depth == 0 {
		return (messageBytes + elementBytes) * int64(len(text))
	}
	n := int64(messageBytes)
	for len(text) > 0 {
		number, kind, k := protowire.ConsumeTag(text)
		if k < 0 {
			return n
		}
		field := message.Fields().ByNumber(number)
		if kind != protowire.BytesType {
			m := protowire.ConsumeFieldValue(number, kind, text[k:])
			if m < 0 {
				return n
			}
			n += elementBytes
			text = text[k+m:]
			continue
		}
		value, m := protowire.ConsumeBytes(text[k:])
		if m < 0 {
			return n
		}
		n += elementBytes + valueBytes(field, value, depth)
		text = text[k+m:]
	}
	return n
}

// valueBytes returns the memory of a field's value. The field may be unknown: nil.
func valueBytes(field protoreflect.FieldDescriptor, value []byte, depth int) int64 {
	switch {
	case field == nil:
	case field.Message() != nil:
		return parsedBytes(field.Message(), value, depth-1)
	case field.IsList() && field.IsPacked():
		switch field.Kind() {
		case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind:
			return 8 * int64(len(value))
		case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.Sint32Kind, protoreflect.EnumKind:
			return 4 * int64(len(value))
		}
	}
	return int64(len(value))
}

// requestBytes returns the memory of a request in addition to its message: tensors, or
// serialized Examples. A tensor of more than most bytes is refused later, with its
// name.
func requestBytes(q any, most int64) int64 {
	switch q := q.(type) {
	case *servingproto.PredictRequest:
		n := int64(0)
		for _, p := range q.GetInputs() {
			n = saturated(n, min(tensorBytes(p), most), 2) // the parsed message, and the tensor
		}
		return n
	case *inferenceproto.ModelInferRequest:
		return inferBytes(q)
	case interface{ GetInput() *servingproto.Input }:
		return recordBytes(q.GetInput())
	}
	return 0
}

// inferBytes returns the memory of the inputs of a request of the Open Inference
// Protocol: their binary form, and the tensors. An element of BYTES may consist only of
// its length.
func inferBytes(q *inferenceproto.ModelInferRequest) int64 {
	const perBytes = 4
	n := int64(0)
	for i, in := range q.GetInputs() {
		size := int64(proto.Size(in.GetContents()))
		if raw := q.GetRawInputContents(); i < len(raw) {
			size = int64(len(raw[i]))
		}
		factor := int64(10) // a varint of one byte may be a number of eight, and its tensor
		if in.GetDatatype() == "BYTES" {
			factor = 2 * elementBytes / perBytes
		}
		n = saturated(n, size, factor)
	}
	return n
}

// tensorBytes returns the memory of a tensor. A short message may claim a large one.
func tensorBytes(p *tfproto.TensorProto) int64 {
	shape := make([]int64, len(p.GetTensorShape().GetDim()))
	for i, d := range p.GetTensorShape().GetDim() {
		if shape[i] = d.GetSize(); shape[i] < 0 {
			return 0 // refused later
		}
	}
	n, size, err := dtype.ByteSize(tfbridge.DataType(p.GetDtype()), shape)
	if err != nil {
		return 0
	}
	if values := p.GetStringVal(); len(values) > 0 { // the last one fills up the tensor
		for _, v := range values {
			size = saturated(size, int64(len(v)), 1)
		}
		size = saturated(size, int64(len(values[len(values)-1])), max(n-int64(len(values)), 0))
	}
	return size
}

// recordBytes returns the memory of the serialized Examples of an input: each has the
// features that all share.
func recordBytes(input *servingproto.Input) int64 {
	examples, shared := input.GetExampleList().GetExamples(), int64(0)
	if list := input.GetExampleListWithContext(); list != nil {
		examples, shared = list.GetExamples(), int64(proto.Size(list.GetContext()))
	}
	n := saturated(0, shared+elementBytes, int64(len(examples)))
	return saturated(0, saturated(n, int64(proto.Size(input)), 1), 2) // the records, and the tensor
}

// saturated returns n + a*b, or the largest number if that overflows. No argument is
// negative.
func saturated(n, a, b int64) int64 {
	if b > 0 && a > (math.MaxInt64-n)/b {
		return math.MaxInt64
	}
	return n + a*b
}
