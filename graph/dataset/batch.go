package dataset

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// Batch stacks every n elements, which must have equal shapes. The last batch may have
// fewer; drop drops it, and makes the batch size known while building.
func (d *Dataset) Batch(n int64, drop bool) *Dataset {
	d = d.orNone()
	limit.Between(1, limit.BatchSize(drop)).Check(d.scope, "BatchDatasetV2: batch size", n)
	return d.then("BatchDatasetV2", d.batched(n, drop, d.specs), attrs{"parallel_copy": true},
		d.scope.Const(n), d.scope.Const(drop)).batchOf(d, n, drop)
}

// batchOf sets the structure of d to batches of another dataset's elements.
func (d *Dataset) batchOf(elements *Dataset, n int64, drop bool) *Dataset {
	if d.scope.Err() != nil || elements.structure == nil {
		return d
	}
	if !drop {
		n = -1
	}
	tree, err := elements.structure.batched(n)
	if err != nil {
		return d.fail("Dataset.Batch", "%w", err)
	}
	return d.as(tree)
}

// batched returns the specs of batches of elements.
func (d *Dataset) batched(n int64, drop bool, elements []graph.Spec) []graph.Spec {
	size := int64(-1)
	if drop {
		size = n
	}
	specs := make([]graph.Spec, len(elements))
	for i, p := range elements {
		specs[i].DType = p.DType
		if dims, err := p.Shape.ToSlice(); err == nil {
			specs[i].Shape = tfbridge.MakeShape(append([]int64{size}, dims...)...)
		}
	}
	return specs
}

// PaddedBatchOptions are the options of [Dataset.PaddedBatch].
type PaddedBatchOptions struct {
	Shapes [][]int64         // padded shape of each component, -1: the longest in the batch; nil, or nil for a component: -1 in every dimension
	Values []tfbridge.Output // padding value of each component, a scalar; nil, or an unset Output: 0 or ""
	Drop   bool              // drop the last batch if it has fewer elements
	Size   tfbridge.Output   // replaces n: the size of batches, an int64 scalar of at most n; optional

	fill tfbridge.Output // padded size of dimensions of -1; unset: the longest
}

// PaddedBatch pads every n elements to one shape and stacks them. An element larger
// than its padding shape is an error when it is read.
func (d *Dataset) PaddedBatch(n int64, o *PaddedBatchOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &PaddedBatchOptions{}
	}
	s := d.scope
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	if !d.Spec().onlyDense() {
		return d.fail("Dataset.PaddedBatch", "elements are %v: sparse and ragged parts need no padding, Batch takes them", d.Spec())
	}
	if o.Shapes != nil && len(o.Shapes) != len(d.specs) || o.Values != nil && len(o.Values) != len(d.specs) {
		return d.fail("PaddedBatchDatasetV2", "%d components, %d padding shapes, %d values", len(d.specs), len(o.Shapes), len(o.Values))
	}
	limit.Between(1, limit.WholeBatch).Check(s, "PaddedBatchDatasetV2: batch size", n)
	var shapes, values tfbridge.OutputList
	padded := make([]graph.Spec, len(d.specs))
	for i, p := range d.specs {
		dims := d.padding(i, o.Shapes)
		padded[i] = graph.Spec{DType: p.DType, Shape: tfbridge.MakeShape(dims...)}
		limit.Fits(s, "PaddedBatchDatasetV2", n, padded[i])
		shapes = append(shapes, o.filled(s, dims))
		if o.Values != nil && o.Values[i].Op != nil {
			values = append(values, o.Values[i])
		} else {
			values = append(values, s.Zeros(p.DType))
		}
	}
	size, specs := s.Const(n), d.batched(n, o.Drop, padded)
	if o.Size.Op != nil {
		size, specs = limit.AtMost(s, "PaddedBatch: size", o.Size, n), d.batched(n, false, padded)
	}
	return made(s, specs, s.Op1("PaddedBatchDatasetV2",
		map[string]any{"parallel_copy": true, "output_shapes": graph.Shapes(specs)},
		d.read(), size, shapes, values, s.Const(o.Drop))).likeness(d)
}

// filled returns a padding shape as an input.
func (o *PaddedBatchOptions) filled(s *graph.Scope, dims []int64) tfbridge.Output {
	shape := s.Const(dims)
	if o.fill.Op == nil || len(dims) == 0 {
		return shape
	}
	unknown := graph.Less(s, shape, s.Const(int64(0)))
	return s.Op1("SelectV2", nil, unknown, o.fill, shape)
}

// padding returns the padded shape of component i. A shape that no element can have is a
// failure of the scope; TensorFlow would report it only with the first element.
func (d *Dataset) padding(i int, shapes [][]int64) []int64 {
	have := d.specs[i].Shape
	if shapes == nil || shapes[i] == nil {
		dims, err := have.ToSlice()
		if err != nil {
			d.fail("PaddedBatchDatasetV2", "component %d has an unknown number of dimensions and no padding shape", i)
			return []int64{}
		}
		return dims
	}
	if n := have.NumDimensions(); n >= 0 && n != len(shapes[i]) {
		d.fail("PaddedBatchDatasetV2", "component %d is a %v, its padding shape has %d dimensions", i, d.specs[i], len(shapes[i]))
		return shapes[i]
	}
	for axis, size := range shapes[i] {
		if size >= 0 && have.Size(axis) > size {
			d.fail("PaddedBatchDatasetV2", "component %d is a %v, larger than its padding %v", i, d.specs[i], shapes[i])
		}
	}
	return append([]int64{}, shapes[i]...)
}

// RaggedBatch stacks every n elements, whose shapes may differ: a tensor with unknown
// dimensions becomes ragged, and a ragged tensor gets one more rank. It wraps
// RaggedTensorToVariant and BatchDatasetV2.
func (d *Dataset) RaggedBatch(n int64, drop bool) *Dataset {
	d = d.orNone()
	return d.ragged().Batch(n, drop)
}

// ragged returns d with each tensor of unknown dimensions converted to a ragged one.
func (d *Dataset) ragged() *Dataset {
	if d.scope.Err() != nil {
		return d
	}
	before := d.Spec().Leaves()
	after, err := d.Spec().mapLeaves(func(leaf *Structure) (*Structure, error) {
		if rank := leaf.raggedRank(); rank >= 0 {
			return RaggedSpec(leaf.Spec.DType, leaf.Spec.Shape, rank), nil
		}
		return leaf, nil
	})
	if err != nil {
		return d.fail("Dataset.RaggedBatch", "%w", err)
	}
	return d.Map("ragged", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		for i, leaf := range before {
			if rank := leaf.raggedRank(); rank >= 0 {
				args[i] = raggedFrom(s, args[i], rank)
			}
		}
		return args
	}, nil).as(after)
}

// raggedRank returns the ragged rank of a tensor: the index of its last unknown dimension,
// or -1 if it has none and stays a tensor.
func (t *Structure) raggedRank() int {
	rank := -1
	if t.Kind != KindDense {
		return rank
	}
	for axis := range t.Spec.Shape.NumDimensions() {
		if t.Spec.Shape.Size(axis) < 0 {
			rank = axis
		}
	}
	return rank
}

// raggedFrom converts a tensor to the variant of a ragged tensor.
func raggedFrom(s *graph.Scope, x tfbridge.Output, rank int) tfbridge.Output {
	leaf := RaggedSpec(x.DataType(), tfbridge.Shape{}, rank)
	if rank == 0 {
		return leaf.component(s, []tfbridge.Output{x}, false)
	}
	// Every row is as long as the others: the splits are multiples.
	shape := graph.Cast(s, graph.Shape(s, x), tfbridge.Int64)
	rows, zero, one := s.Const(int64(1)), s.Const(int64(0)), s.Const(int64(1))
	var parts []tfbridge.Output
	for axis := range rank {
		rows = graph.Mul(s, rows, graph.Subscript(s, shape, graph.At(int64(axis))))
		width := graph.Subscript(s, shape, graph.At(int64(axis)+1))
		numbers := graph.Range(s, zero, graph.Add(s, rows, one), one)
		parts = append(parts, graph.Mul(s, numbers, width))
	}
	inner := graph.Subscript(s, shape, graph.From(int64(rank)+1))
	rows = graph.Mul(s, rows, graph.Subscript(s, shape, graph.At(int64(rank))))
	flat := graph.Reshape(s, x, graph.ConcatV2(s, []tfbridge.Output{graph.ExpandDims(s, rows, 0), inner}, 0))
	return leaf.component(s, append(parts, flat), false)
}

// SparseBatch stacks every n elements, tensors that may differ in size, to sparse tensors.
// shape is the largest shape of an element; -1 in a dimension means the largest in the
// batch. d must have one component. The last batch may have fewer elements. It wraps
// DenseToSparseBatchDataset.
func (d *Dataset) SparseBatch(n int64, shape []int64) *Dataset {
	d = d.orNone()
	limit.Between(1, limit.WholeBatch).Check(d.scope, "Dataset.SparseBatch: size", n)
	if d.scope.Err() != nil {
		return &Dataset{scope: d.scope}
	}
	if len(d.specs) != 1 || d.Spec().Kind != KindDense {
		return d.fail("Dataset.SparseBatch", "elements are %v, must be one tensor", d.Spec())
	}
	p := d.specs[0]
	if have := p.Shape.NumDimensions(); have != len(shape) {
		return d.fail("Dataset.SparseBatch", "elements are %v, the shape has %d dimensions", p, len(shape))
	}
	for axis, dim := range shape {
		if dim < -1 || dim >= 0 && p.Shape.Size(axis) > dim {
			return d.fail("Dataset.SparseBatch", "elements are %v, the shape is %v", p, shape)
		}
	}
	specs := []graph.Spec{{DType: tfbridge.Variant}}
	return d.then("DenseToSparseBatchDataset", specs, nil, d.scope.Const(n), d.scope.Const(append([]int64{}, shape...))).
		as(SparseSpec(p.DType, tfbridge.MakeShape(append([]int64{-1}, shape...)...)))
}

// Unbatch splits every element into the slices of its components along their first
// dimension. It wraps UnbatchDataset, or FlatMapDataset and TensorSliceDataset if a
// slice of numbers may be empty.
func (d *Dataset) Unbatch() *Dataset {
	d = d.orNone()
	d = d.sliceable("Dataset.Unbatch")
	specs, err := slicesOf(d.specs)
	if err != nil {
		d.scope.UpdateErr("UnbatchDataset", err)
	}
	if slices.ContainsFunc(specs, mayHaveNoBytes) {
		return d.FlatMap("unbatch", func(s *graph.Scope, args []tfbridge.Output) *Dataset { return FromSlices(s, args...) }).slicesOf(d)
	}
	return d.then("UnbatchDataset", specs, nil).slicesOf(d)
}

// mayHaveNoBytes reports whether tensors of p may be empty. UnbatchDataset ends the
// process for empty slices.
func mayHaveNoBytes(p graph.Spec) bool {
	dims, err := p.Shape.ToSlice()
	return p.DType.Size() > 0 && (err != nil || slices.Min(append(dims, 1)) < 1)
}

// slicesOf sets the structure of d to slices of another dataset's elements.
func (d *Dataset) slicesOf(elements *Dataset) *Dataset {
	if d.scope.Err() != nil || elements.structure == nil {
		return d
	}
	tree, err := elements.structure.sliced()
	if err != nil {
		return d.fail("Dataset.Unbatch", "%w", err)
	}
	return d.as(tree)
}

// likeness sets the structure of d to the structure of another dataset's elements, with the
// shapes of d's components. All parts are dense.
func (d *Dataset) likeness(elements *Dataset) *Dataset {
	if d.scope.Err() != nil || elements.structure == nil {
		return d
	}
	i := -1
	tree, err := elements.structure.mapLeaves(func(*Structure) (*Structure, error) {
		i++
		return DenseSpec(d.specs[i].DType, d.specs[i].Shape), nil
	})
	if err != nil {
		return d.fail("dataset", "%w", err)
	}
	return d.as(tree)
}

// WindowOptions are the options of [Dataset.Window].
type WindowOptions struct {
	Shift  tfbridge.Output // from one window's first element to the next one's; not set: size
	Stride tfbridge.Output // from one element of a window to the next; not set: 1
	Drop   bool            // drop windows of fewer than size elements
}

// Window groups size consecutive elements. Every component of a window is a dataset of
// that component, in a scalar variant tensor. Inside a function, [FromVariant] with the
// component's spec returns that dataset; [MapOf], [DatasetOf] and [ZipWindow] do this
// themselves. Sizes are scalars of int64.
func (d *Dataset) Window(size tfbridge.Output, o *WindowOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &WindowOptions{}
	}
	shift, stride := o.Shift, o.Stride
	if shift.Op == nil {
		shift = size
	}
	if stride.Op == nil {
		stride = d.scope.Const(int64(1))
	}
	specs := make([]graph.Spec, len(d.specs))
	for i := range specs {
		specs[i] = graph.Spec{DType: tfbridge.Variant, Shape: tfbridge.ScalarShape()}
	}
	w := d.then("WindowDataset", specs, nil, size, shift, stride, d.scope.Const(o.Drop))
	if w.scope.Err() != nil {
		return w
	}
	tree, err := d.Spec().mapLeaves(func(leaf *Structure) (*Structure, error) { return DatasetSpec(leaf), nil })
	if err != nil {
		return w.fail("Dataset.Window", "%w", err)
	}
	return w.as(tree)
}
