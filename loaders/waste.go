package loaders

import (
	"slices"

	"millrace/tfbridge"
)

// Waste adds up how much of padded tensors is padding. [Plan.MeasurePadding]
// makes it.
type Waste struct {
	tensors []wasted
}

// wasted is one padded tensor.
type wasted struct {
	name     string
	measured string  // name of the tensor that holds the true numbers of elements; "" if share is known
	share    float64 // known before the data is read
	elements int64   // of all batches so far
	data     int64   // of these, no padding
}

// TensorWaste is how much of a tensor is padding.
type TensorWaste struct {
	Tensor string  `json:"tensor"`
	Share  float64 `json:"share"` // of its elements in all batches, from 0 to 1
}

// MeasurePadding returns the plan with further tensors, which tell how large
// the padded ones were before, and the sum to add batches of it to. Sizes that
// the plan knows need no tensor, and scalars have no padding. Without padding it is the plan itself.
func (p *Plan) MeasurePadding() (*Plan, *Waste) {
	w, q := &Waste{}, *p
	q.Measures, q.Tensors, q.Padding = slices.Clip(p.Measures), slices.Clip(p.Tensors), slices.Clip(p.Padding)
	for i := range p.Padding {
		if len(p.Tensors[i].Shape) == 0 {
			continue // nothing to pad
		}
		x := wasted{name: p.Tensors[i].Name}
		var known bool
		if x.share, known = p.padShare(i); !known {
			x.measured = q.measureElements(x.name)
		}
		w.tensors = append(w.tensors, x)
	}
	return &q, w
}

// measureElements adds a tensor that tells the number of elements of another,
// and returns its name.
func (p *Plan) measureElements(of string) string {
	name := "elements of " + of
	for slices.ContainsFunc(p.Tensors, func(t TensorSpec) bool { return t.Name == name }) {
		name += "'"
	}
	p.Measures = append(p.Measures, Measure{To: name, Kind: elementCount, Tensor: of})
	p.Tensors = append(p.Tensors, TensorSpec{Name: name, DType: tfbridge.Int64, Shape: []int64{}})
	p.Padding = append(p.Padding, Pad{Tensor: name, Shape: []int64{}, Value: int64(0)})
	return name
}

// padShare returns how much of tensor i is padding, if its size is known
// before the data is read.
func (p *Plan) padShare(i int) (share float64, known bool) {
	shape := p.Tensors[i].Shape
	if slices.Contains(shape, -1) {
		return 0, false
	}
	whole := elements(padded(shape, p.Padding[i].Shape))
	if whole == 0 {
		return 0, true
	}
	return 1 - float64(elements(shape))/float64(whole), true
}

// Known reports whether all shares are known without a batch.
func (w *Waste) Known() bool {
	return !slices.ContainsFunc(w.tensors, func(x wasted) bool { return x.measured != "" })
}

// Add adds a batch of the plan that measures padding.
func (w *Waste) Add(b *Batch) error {
	for i := range w.tensors {
		x := &w.tensors[i]
		if x.measured == "" {
			continue
		}
		counts, err := tfbridge.View[int64](b.Tensor(x.measured))
		if err != nil {
			return err
		}
		for _, n := range counts {
			x.data += n
		}
		x.elements += elements(b.Tensor(x.name).Shape())
	}
	return nil
}

// Tensors returns the share of padding in each padded tensor, in the order of
// the config; nothing without padding.
func (w *Waste) Tensors() []TensorWaste {
	var list []TensorWaste
	for _, x := range w.tensors {
		if x.elements > 0 {
			x.share = 1 - float64(x.data)/float64(x.elements)
		}
		list = append(list, TensorWaste{x.name, x.share})
	}
	return list
}
