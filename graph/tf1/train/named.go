package train

import (
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// flat returns the tensors as lists: named tensors come last, sorted by name, as in Python.
func (t Tensors) flat() Tensors {
	f := Tensors{Dense: slices.Clone(t.Dense), Sparse: slices.Clone(t.Sparse)}
	for _, name := range slices.Sorted(maps.Keys(t.Named)) {
		f.Dense = append(f.Dense, t.Named[name])
	}
	for _, name := range slices.Sorted(maps.Keys(t.NamedSparse)) {
		f.Sparse = append(f.Sparse, t.NamedSparse[name])
	}
	return f
}

// named is the inverse of flat: it returns a batch with the names of t.
func (t Tensors) named(batch Tensors) Tensors {
	dense, sparse := len(t.Dense), len(t.Sparse)
	out := Tensors{Dense: batch.Dense[:dense:dense], Sparse: batch.Sparse[:sparse:sparse]}
	out.Named = byName(t.Named, batch.Dense[dense:])
	out.NamedSparse = byName(t.NamedSparse, batch.Sparse[sparse:])
	return out
}

// none returns the placeholder of a batch after a failure: zero values in place of t's
// tensors. If t has none, it still has zero Outputs, for programs that index them.
func (t Tensors) none() Tensors {
	if len(t.Dense)+len(t.Sparse)+len(t.Named)+len(t.NamedSparse) == 0 {
		return Tensors{Dense: unbuilt.Outputs(unbuilt.Many)}
	}
	return Tensors{
		Dense: make([]tfbridge.Output, len(t.Dense)), Sparse: make([]graph.SparseTensor, len(t.Sparse)),
		Named: zeros(t.Named), NamedSparse: zeros(t.NamedSparse),
	}
}

// zeros returns a map with the same names and zero values, nil if there are none.
func zeros[T any](names map[string]T) map[string]T {
	return byName(names, make([]T, len(names)))
}

// byName returns values, sorted by the names of a map, by these names; nil if there are
// none.
func byName[T any](names map[string]T, values []T) map[string]T {
	if len(names) == 0 {
		return nil
	}
	values = slices.Clone(values)
	out := make(map[string]T, len(names))
	for i, name := range slices.Sorted(maps.Keys(names)) {
		out[name] = values[i]
	}
	return out
}

// flatten converts the named tensors of all sources to lists. The sources must have the
// same names.
func (b *batching) flatten() error {
	flat := make([]Tensors, len(b.lists))
	for i, list := range b.lists {
		if err := sameNames(b.source.Named, list.Named); err != nil {
			return err
		}
		if err := sameNames(b.source.NamedSparse, list.NamedSparse); err != nil {
			return err
		}
		flat[i] = list.flat()
	}
	b.lists = flat
	return nil
}

// sameNames returns an error if two sources have tensors with different names.
func sameNames[T any](first, other map[string]T) error {
	want, got := slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(other))
	if !slices.Equal(want, got) {
		return millrace.Errorf(millrace.ErrModel, "one source has the names %q, another one %q", want, got)
	}
	return nil
}
