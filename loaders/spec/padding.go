package spec

import (
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// PaddingConfig is one entry of "padding": how one tensor is padded.
type PaddingConfig struct {
	decl.Object
	Tensor string  `json:"tensor" decl:"required,label=tensor" doc:"The tensor to pad."`
	Shape  []int64 `json:"shape" decl:"most=253,items.min=-1,items.limit=2147483648" doc:"The shape to pad to, without the batch dimension. -1, or no shape, means the longest in the batch."`
	Value  Value   `json:"value" decl:"" doc:"The value to pad with, which must be exactly a value of the tensor's dtype. The default is 0, false or the empty string."`
}

// paddingPart checks how tensors are padded.
type paddingPart struct{ *checker }

// padding computes how each tensor is padded.
func (c paddingPart) padding() {
	if list := c.padded.B; list != nil {
		for i := range *list {
			c.paddingEntry(&(*list)[i])
		}
	}
	if !c.pads() {
		return
	}
	for _, t := range c.tensors {
		c.spec.Padding = append(c.spec.Padding, c.pad(t))
	}
	measurePart(c).maskPadding()
}

// paddingEntry finds the tensor that an entry is for.
func (c paddingPart) paddingEntry(p *PaddingConfig) {
	if p.At == nil || p.Bad("tensor") {
		return
	}
	t := c.tensor(p.Key("tensor"), p.Tensor)
	switch {
	case t == nil:
	case t.automatic:
		c.inConfig.Report(p.Key("tensor"), "%s is an automatic output, which has one value for each row", decl.Quote(t.Name))
	case t.measure != nil && t.measure.Kind == Mask:
		c.inConfig.Report(p.Key("tensor"), "the mask %s is padded as its tensor %s is", decl.Quote(t.Name), decl.Quote(t.measure.Tensor))
	case t.padding != nil:
		line, column := t.padding.At.Position()
		c.inConfig.Report(p.Key("tensor"), "tensor %s is padded twice; the first entry is at %d:%d", decl.Quote(p.Tensor), line, column)
	default:
		t.padding = p
	}
}

// pad returns the padding of one tensor.
func (c paddingPart) pad(t *tensorState) Pad {
	p := t.padding
	out := Pad{Tensor: t.Name, Value: ZeroValue(t.DType), Shape: make([]int64, len(t.Shape))}
	for i := range out.Shape {
		out.Shape[i] = -1
	}
	if p == nil {
		return out
	}
	if p.Shape != nil && !p.Bad("shape") && t.shaped && c.paddedShape(p, t) {
		out.Shape = p.Shape
	}
	if t.typed {
		out.Value, _ = c.value(p.Key("value"), t.DType, p.Value)
	}
	return out
}

// paddedShape checks a shape against what is known of the tensor's.
func (c paddingPart) paddedShape(p *PaddingConfig, t *tensorState) bool {
	at := p.Key("shape")
	if len(p.Shape) != len(t.Shape) {
		c.inConfig.Report(at, "a shape of %s for a tensor of %s: %s", processing.Dimensions(len(p.Shape)), processing.Dimensions(len(t.Shape)), processing.FormatShape(t.Shape))
		return false
	}
	ok := true
	for i, e := range elems(at) {
		if want, size := p.Shape[i], t.Shape[i]; want >= 0 && size > want {
			c.inConfig.Report(e, "cannot pad to %d: dimension %d has size %d", want, i, size)
			ok = false
		}
	}
	return ok
}

// elems returns the elements of a list.
func elems(n *jsonpos.Node) []*jsonpos.Node {
	var out []*jsonpos.Node
	for _, e := range n.Elems() {
		out = append(out, e)
	}
	return out
}
