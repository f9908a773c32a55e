package plan

import (
	"slices"

	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// countElements adds a tensor with the number of elements of another tensor, and
// returns its name.
func (p *Plan) countElements(of string) string {
	name := "elements of " + of
	for slices.ContainsFunc(p.Tensors, func(t spec.TensorSpec) bool { return t.Name == name }) {
		name += "'"
	}
	p.Measures = append(p.Measures, spec.Measure{To: name, Kind: spec.ElementCount, Tensor: of})
	p.Tensors = append(p.Tensors, spec.TensorSpec{Name: name, DType: tfbridge.Int64, Shape: []int64{}})
	pad := spec.Pad{Tensor: name, Shape: []int64{}, Value: int64(0)}
	p.Padding = append(p.Padding, pad)
	if u := p.Unbatched; u != nil {
		p.Unbatched = &spec.Unbatched{
			Tensors: append(slices.Clip(u.Tensors), p.Tensors[len(p.Tensors)-1]), Padding: append(slices.Clip(u.Padding), pad),
		}
	}
	return name
}

// PaddedTensor is a tensor that a plan pads. It has the share of padding, or the name
// of a tensor that counts the elements.
type PaddedTensor struct {
	Name    string
	Share   float64 // share of padding, from 0 to 1, if it is known before the data is read
	Counter string  // tensor that holds each example's number of elements; "" if Share is known
}

// MeasurePadding returns the plan with additional tensors, which hold the number of
// elements that padded tensors have before they are padded. Tensors whose share of
// padding the plan knows need none, and scalars have no padding. A plan without padding
// is returned unchanged.
func (p *Plan) MeasurePadding() (*Plan, []PaddedTensor) {
	q := p.clone()
	q.Measures, q.Tensors, q.Padding = slices.Clip(p.Measures), slices.Clip(p.Tensors), slices.Clip(p.Padding)
	var tensors []PaddedTensor
	examples := p.Examples()
	for i, pad := range examples.Padding {
		x := examples.Tensors[i]
		if len(x.Shape) == 0 {
			continue // nothing to pad
		}
		t := PaddedTensor{Name: x.Name}
		var known bool
		if t.Share, known = stage.PadShare(x, pad); !known {
			t.Counter = q.countElements(t.Name)
		}
		tensors = append(tensors, t)
	}
	return q, tensors
}
