package policy

import (
	"bytes"
	"math"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// maxElements is the largest number of elements of a shape in an attribute.
const maxElements = 1 << 40

// maxDims is the largest number of dimensions of a shape in an attribute. TensorFlow's
// limit is 254, and operations that add more dimensions to the ones of an attribute end the
// process.
const maxDims = 64

// checkShapes refuses a node with a shape among its attributes that no memory could hold:
// kernels multiply such a shape with a number of rows, and end the process where the
// product overflows.
func (c amountCheck) checkShapes(n metagraph.Node) error {
	for _, a := range n.Attrs {
		shapes := [][]byte{}
		if s, ok := message.Find(a.Value, message.AttrShapeField); ok {
			shapes = append(shapes, s.Bytes)
		}
		list, _ := message.Find(a.Value, message.AttrListField)
		for f := range wire.Fields(list.Bytes) {
			if f.Num == message.ListShapeField {
				shapes = append(shapes, f.Bytes)
			}
		}
		for _, s := range shapes {
			if dims := dimsOf(s); dims > maxDims {
				return c.r.Limit("node %s (%s): attribute %s is a shape of %d dimensions; it may have %d", modelfile.Quote(n.Name), modelfile.Quote(n.Op), modelfile.Quote(a.Name), dims, maxDims)
			}
			if elements(s) > maxElements {
				return c.r.Limit("node %s (%s): attribute %s is a shape of more than %d elements", modelfile.Quote(n.Name), modelfile.Quote(n.Op), modelfile.Quote(a.Name), int64(maxElements))
			}
		}
	}
	return nil
}

// dimsOf returns the number of dimensions of a shape.
func dimsOf(shape []byte) (n int) {
	for f := range wire.Fields(shape) {
		if f.Num == shapeDim {
			n++
		}
	}
	return n
}

// elements returns the number of elements of a shape, in which an unknown dimension or an
// empty one counts as 1.
func elements(shape []byte) uint64 {
	total := uint64(1)
	for f := range wire.Fields(shape) {
		if f.Num != shapeDim {
			continue
		}
		n, _ := message.Find(f.Bytes, dimSize)
		if int64(n.Number) <= 0 {
			continue
		}
		high, low := bits.Mul64(total, n.Number)
		if total = low; high > 0 {
			return math.MaxUint64
		}
	}
	return total
}

// checkGather refuses a Gather with batch dimensions whose axis is not a constant: its
// shape function then subtracts them from ranks, and ends the process below 0.
func (c amountCheck) checkGather(fn *metagraph.Function, n metagraph.Node) error {
	if n.Op != "GatherV2" {
		return nil
	}
	_, left := message.Find(n.Attr("batch_dims"), message.AttrPlaceholderField)
	dims, _ := message.AttrInt(n.Attr("batch_dims"))
	if in := n.DataInputs(); left || dims != 0 && (len(in) < 3 || !c.isConstant(fn, in[2])) {
		return c.r.Limit("node %s (%s) has batch dimensions, and its axis is not a constant", modelfile.Quote(n.Name), modelfile.Quote(n.Op))
	}
	return nil
}

// isConstant reports whether an input is a constant that no signature feeds.
func (c amountCheck) isConstant(fn *metagraph.Function, input string) bool {
	if fn == nil && c.fed[metagraph.ParseRef(input).String()] {
		return false
	}
	n, _, ok := c.producer(fn, input)
	return ok && n.Op == "Const"
}

// isFalse reports whether an input is a constant scalar that is false.
func (c amountCheck) isFalse(fn *metagraph.Function, input string) bool {
	if !c.isConstant(fn, input) {
		return false
	}
	n, _, _ := c.producer(fn, input)
	value, _ := message.Find(n.Attr("value"), message.AttrTensorField)
	for f := range wire.Fields(value.Bytes) {
		switch f.Num {
		case metagraph.TensorContent:
			if bytes.ContainsFunc(f.Bytes, func(r rune) bool { return r != 0 }) {
				return false
			}
		case tensorBools:
			if slices.ContainsFunc(f.Numbers(), func(v uint64) bool { return v != 0 }) {
				return false
			}
		case tensorShape:
			if _, ok := message.Find(f.Bytes, shapeDim); ok {
				return false
			}
		}
	}
	return true
}

// tensorBools is the field of TensorProto with bools.
const tensorBools = protowire.Number(11)
