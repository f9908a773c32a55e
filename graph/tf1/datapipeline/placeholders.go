package datapipeline

import (
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Placeholders are the placeholders of the data and of the sizes that vary.
// [MakePlaceholders] adds them.
type Placeholders struct {
	specs   []graph.Spec
	outputs map[string]tfbridge.Output
}

// MakePlaceholders adds a placeholder for each key, for each dimension that varies
// ([Size]), and for the special keys. With withBatch they have a leading batch dimension,
// so that a size is a vector; [EpochEnd] has none.
func MakePlaceholders(s *graph.Scope, externData *ExternData, withBatch bool, special ...string) *Placeholders {
	p := &Placeholders{outputs: map[string]tfbridge.Output{}}
	if err := externData.check(); err != nil {
		s.UpdateErr("placeholders", err)
		return p
	}
	for _, spec := range externData.components(special...) {
		if withBatch && spec.Name != EpochEnd {
			spec.Shape = batched(spec.Shape)
		}
		p.specs = append(p.specs, spec)
		p.outputs[spec.Name] = s.Placeholder(spec.DType, spec.Shape)
	}
	return p
}

// Data returns the placeholders by name.
func (p *Placeholders) Data() map[string]tfbridge.Output { return maps.Clone(p.outputs) }

// FeedDict returns the values by placeholder. There must be one value for each placeholder
// and no others, of its data type and shape.
func (p *Placeholders) FeedDict(values map[string]*tfbridge.Tensor) (map[tfbridge.Output]*tfbridge.Tensor, error) {
	feeds, list, err := p.feed(values)
	if err != nil {
		return nil, err
	}
	byFeed := map[tfbridge.Output]*tfbridge.Tensor{}
	for i, feed := range feeds {
		byFeed[feed] = list[i]
	}
	return byFeed, nil
}

// feed returns placeholders, in a fixed order, and their values.
func (p *Placeholders) feed(values map[string]*tfbridge.Tensor) ([]tfbridge.Output, []*tfbridge.Tensor, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := p.outputs[name]; !ok {
			return nil, nil, millrace.Errorf(millrace.ErrModel, "there is no placeholder %q; there are %q", name, slices.Sorted(maps.Keys(p.outputs)))
		}
	}
	feeds, list := make([]tfbridge.Output, len(p.specs)), make([]*tfbridge.Tensor, len(p.specs))
	for i, spec := range p.specs {
		t := values[spec.Name]
		switch {
		case t == nil:
			return nil, nil, millrace.Errorf(millrace.ErrModel, "placeholder %q gets no value", spec.Name)
		case t.DataType() != spec.DType || !spec.Shape.Accepts(t.Shape()):
			return nil, nil, millrace.Errorf(millrace.ErrModel, "placeholder %q takes %v %v, got %v", spec.Name, spec.DType, spec.Shape, t)
		}
		feeds[i], list[i] = p.outputs[spec.Name], t
	}
	return feeds, list, nil
}
