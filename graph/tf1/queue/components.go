package queue

import (
	"fmt"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// checkComponents returns an error if the components of a queue are invalid. Dense
// components have fully defined shapes, or unknown ones. Ranked components have shapes.
func checkComponents(components []graph.Spec, dense, ranked bool) error {
	if len(components) == 0 {
		return millrace.Errorf(millrace.ErrModel, "there are no components; an element needs at least one")
	}
	seen := map[string]bool{}
	for i, c := range components {
		at, first := describe(i, c.Name), components[0]
		switch {
		case c.DType <= 0 || c.DType != c.DType.Base():
			return millrace.Errorf(millrace.ErrModel, "%s has data type %v; it must be one that a tensor can have", at, c.DType)
		case (c.Name == "") != (first.Name == ""):
			return millrace.Errorf(millrace.ErrModel, "%s has the name %q and component 0 has %q; name all components or none", at, c.Name, first.Name)
		case c.Name != "" && seen[c.Name]:
			return millrace.Errorf(millrace.ErrModel, "two components have the name %q", c.Name)
		case (c.Shape.NumDimensions() < 0) != (first.Shape.NumDimensions() < 0):
			return millrace.Errorf(millrace.ErrModel, "%s has shape %v and component 0 has %v; give all components a shape or none", at, c.Shape, first.Shape)
		case dense && c.Shape.NumDimensions() >= 0 && !c.Shape.IsFullySpecified():
			return millrace.Errorf(millrace.ErrModel, "%s has shape %v; it must be fully defined, or not be given for any component", at, c.Shape)
		case ranked && c.Shape.NumDimensions() < 0:
			return millrace.Errorf(millrace.ErrModel, "%s has no shape; give one, with -1 for what differs between elements", at)
		}
		if err := c.Shape.Check(); err != nil {
			return millrace.Errorf(millrace.ErrModel, "%s: %w", at, err)
		}
		seen[c.Name] = true
	}
	return nil
}

// describe names a component in messages.
func describe(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("component %d", i)
	}
	return fmt.Sprintf("component %d %q", i, name)
}

// FromMap returns the values of a map in the order of the components, as
// [Queue.Enqueue] and [Queue.EnqueueMany] take them. The map must have exactly the
// names of the components.
func (q *Queue) FromMap(s *graph.Scope, values map[string]tfbridge.Output) []tfbridge.Output {
	return ordered(s, q.components, values, q.fail)
}

// ordered returns the values of a map in the order of the components, or calls fail
// with the reason why they are invalid.
func ordered(s *graph.Scope, components []graph.Spec, values map[string]tfbridge.Output, fail func(*graph.Scope, error)) []tfbridge.Output {
	if s.Err() != nil {
		return unbuilt.Outputs(len(components))
	}
	list, err := fromMap(components, values)
	if err != nil {
		fail(s, err)
		return unbuilt.Outputs(len(components))
	}
	return list
}

// ToMap returns the values of one dequeue by the names of the components. It returns
// nil if the components have no names, or if the number of values differs.
func (q *Queue) ToMap(values []tfbridge.Output) map[string]tfbridge.Output {
	return toMap(q.components, values)
}

// fromMap returns the values of a map in the order of the components.
func fromMap(components []graph.Spec, values map[string]tfbridge.Output) ([]tfbridge.Output, error) {
	names := map[string]bool{}
	list := make([]tfbridge.Output, len(components))
	for i, c := range components {
		v, ok := values[c.Name]
		if !ok || c.Name == "" {
			return nil, millrace.Errorf(millrace.ErrModel, "%s is not among the values %q", describe(i, c.Name), slices.Sorted(maps.Keys(values)))
		}
		list[i], names[c.Name] = v, true
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !names[name] {
			return nil, millrace.Errorf(millrace.ErrModel, "no component is called %q", name)
		}
	}
	return list, nil
}

// toMap returns values by the names of the components, nil if they have none.
func toMap(components []graph.Spec, values []tfbridge.Output) map[string]tfbridge.Output {
	if len(values) != len(components) || len(values) == 0 || components[0].Name == "" {
		return nil
	}
	byName := map[string]tfbridge.Output{}
	for i, c := range components {
		byName[c.Name] = values[i]
	}
	return byName
}

// checkValues returns an error if values do not fit the components. If rows is true,
// each value has one more dimension than its component.
func checkValues(components []graph.Spec, values []tfbridge.Output, rows bool) error {
	if len(values) != len(components) {
		return millrace.Errorf(millrace.ErrModel, "%d values for %d components", len(values), len(components))
	}
	for i, c := range components {
		v, want := graph.SpecOf(values[i]), c.Shape
		if rows {
			want = stack(-1, want)
			if v.Shape.NumDimensions() == 0 {
				return millrace.Errorf(millrace.ErrModel, "%s gets a scalar; many elements need a first dimension that counts them", describe(i, c.Name))
			}
		}
		if v.DType.Base() != c.DType {
			return millrace.Errorf(millrace.ErrModel, "%s is of type %v, got %v", describe(i, c.Name), c.DType, v.DType)
		}
		if !want.IsCompatibleWith(v.Shape) {
			return millrace.Errorf(millrace.ErrModel, "%s takes shape %v, got %v", describe(i, c.Name), want, v.Shape)
		}
	}
	return nil
}

// stack returns the shape of n tensors of a shape, stacked; n is -1 if it is unknown.
func stack(n int64, shape tfbridge.Shape) tfbridge.Shape {
	if shape.NumDimensions() < 0 {
		return shape
	}
	return tfbridge.MakeShape(append([]int64{n}, shape.Dims()...)...)
}
