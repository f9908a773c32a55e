package dataset

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// RaggedOutput is the parts of a ragged tensor in a graph: the row splits from the
// outermost dimension inwards, and the joined rows. Functions with one row split may
// use [graph.RaggedTensor].
type RaggedOutput struct {
	Splits []tfbridge.Output
	Values tfbridge.Output
}

// parts returns the tensors that a component of the leaf represents: itself if it is
// dense; indices, values and shape of a sparse tensor; row splits and values of a
// ragged one.
func (t *Structure) parts(s *graph.Scope, component tfbridge.Output) []tfbridge.Output {
	if s.Err() != nil {
		return nil
	}
	switch t.Kind {
	case KindSparse:
		out := s.Op("DeserializeSparse", map[string]any{"dtype": t.Spec.DType}, component)
		if len(out) == 3 {
			if rank := t.Spec.Shape.NumDimensions(); rank >= 0 {
				out[0] = graph.EnsureShape(s, out[0], tfbridge.MakeShape(-1, int64(rank)))
				out[2] = graph.EnsureShape(s, out[2], tfbridge.MakeShape(int64(rank)))
			}
		}
		return out
	case KindRagged:
		out := s.Op("RaggedTensorFromVariant", map[string]any{
			"input_ragged_rank":  int64(-1), // the ragged rank is the variant's
			"output_ragged_rank": int64(t.RaggedRank),
			"Tvalues":            t.Spec.DType,
			"Tsplits":            t.Splits,
		}, component)
		if last := len(out) - 1; last >= 0 {
			out[last] = graph.EnsureShape(s, out[last], t.valuesShape())
		}
		return out
	}
	return []tfbridge.Output{component}
}

// valuesShape returns the shape of a ragged leaf's joined rows.
func (t *Structure) valuesShape() tfbridge.Shape {
	dims, err := t.Spec.Shape.ToSlice()
	if err != nil || len(dims) <= t.RaggedRank {
		return tfbridge.Shape{}
	}
	values := append([]int64{}, dims[t.RaggedRank:]...)
	if t.RaggedRank > 0 {
		values[0] = -1
	}
	return tfbridge.MakeShape(values...)
}

// component returns the component that represents a leaf's tensors. A batched component
// can be sliced along its first dimension.
func (t *Structure) component(s *graph.Scope, parts []tfbridge.Output, batched bool) tfbridge.Output {
	switch t.Kind {
	case KindSparse:
		op := "SerializeSparse"
		if batched {
			op = "SerializeManySparse"
		}
		return s.Op1(op, map[string]any{"out_type": tfbridge.Variant}, parts[0], parts[1], parts[2])
	case KindRagged:
		last := len(parts) - 1
		return s.Op1("RaggedTensorToVariant", map[string]any{
			"RAGGED_RANK": int64(t.RaggedRank), "batched_input": batched, "Tsplits": t.Splits,
		}, tfbridge.OutputList(parts[:last]), parts[last])
	}
	return parts[0]
}

// expand returns the tensors that the components of an element represent.
func (t *Structure) expand(s *graph.Scope, components []tfbridge.Output) []tfbridge.Output {
	var tensors []tfbridge.Output
	for i, leaf := range t.Leaves() {
		if i < len(components) {
			tensors = append(tensors, leaf.parts(s, components[i])...)
		}
	}
	return tensors
}

// size returns the number of tensors that a component of the leaf represents.
func (t *Structure) size() int {
	switch t.Kind {
	case KindSparse:
		return 3
	case KindRagged:
		return t.RaggedRank + 1
	}
	return 1
}

// sliceable returns d with components that can be sliced along their first dimension:
// sparse and ragged components made in a function are single variants.
func (d *Dataset) sliceable(what string) *Dataset {
	tree := d.Spec()
	if d.scope.Err() != nil || tree.onlyDense() {
		return d
	}
	if _, err := tree.sliced(); err != nil {
		return d.fail(what, "%w", err)
	}
	return d.recode("batched", tree, func(s *graph.Scope, leaf *Structure, parts []tfbridge.Output) tfbridge.Output {
		return leaf.component(s, parts, true)
	})
}

// recode maps d to elements of another structure with the same number of leaves. fn
// makes their components from the tensors of the old leaves.
func (d *Dataset) recode(name string, after *Structure, fn func(*graph.Scope, *Structure, []tfbridge.Output) tfbridge.Output) *Dataset {
	leaves := d.Spec().Leaves()
	return d.Map(name, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		components := make([]tfbridge.Output, len(args))
		for i, leaf := range leaves {
			components[i] = args[i]
			if leaf.Kind == KindDense || leaf.Kind == KindDataset {
				continue
			}
			if parts := leaf.parts(s, args[i]); len(parts) == leaf.size() {
				components[i] = fn(s, leaf, parts)
			}
		}
		return components
	}, nil).as(after)
}

// as returns d with another structure over the same components.
func (d *Dataset) as(t *Structure) *Dataset {
	if d.scope.Err() != nil {
		return &Dataset{scope: d.scope}
	}
	if leaves := t.Leaves(); len(leaves) != len(d.specs) {
		return d.fail("dataset", "%d components cannot be %v", len(d.specs), t)
	}
	c := *d
	c.structure = t
	return &c
}
