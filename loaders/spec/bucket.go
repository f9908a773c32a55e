package spec

import (
	"slices"

	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/loaders/processing/batches"
	"millrace/tfbridge"
)

// BucketConfig is "bucket_by_length": examples of similar length share a
// batch.
type BucketConfig struct {
	decl.Object
	Tensor     string  `json:"tensor" decl:"required" doc:"The to_name of the primary feature whose length chooses the bucket. The length is the one after processing steps."`
	Axis       int64   `json:"axis" decl:"default=0,min=0,limit=253" doc:"The axis of the length, not counting the batch dimension."`
	Boundaries []int64 `json:"boundaries" decl:"nonempty,most=10000,items.min=0,items.limit=2147483648" doc:"The greatest length of each bucket, ascending. One more bucket takes longer examples. Give either this or max_waste."`
	MaxWaste   Value   `json:"max_waste" decl:"" doc:"The greatest share of a batch, along the axis, that may be padding: a number from 0.01 to 0.99. It chooses the boundaries. Give either this or boundaries."`
}

// bucketPart checks how examples are put into buckets.
type bucketPart struct{ *checker }

// buckets checks how examples are put into buckets. It comes after padding.
func (c bucketPart) buckets() {
	if c.examples == nil {
		return
	}
	b := &c.examples.BucketByLength
	byElements := c.args.Has("batch_by_elements") && !c.args.Bad("batch_by_elements")
	if b.At == nil {
		if byElements && !c.args.Bad("bucket_by_length") {
			c.inConfig.Report(c.args.Key("batch_by_elements"), "needs bucket_by_length, whose boundaries tell how far examples are padded")
		}
		return
	}
	if !c.pads() && !c.args.Bad("padding") {
		c.inConfig.Report(c.args.Key("bucket_by_length"), "needs padding: the examples of a bucket differ in length")
		return
	}
	if b.Bad("tensor", "axis", "boundaries") {
		return
	}
	t, boundaries := c.bucketTensor(b), c.boundaries(b)
	if t == nil || boundaries == nil {
		return
	}
	bucket := &Bucket{Tensor: t.Name, Axis: int(b.Axis), Boundaries: boundaries}
	if byElements {
		bucket.Elements = c.examples.BatchByElements
		bucket.Boundaries = doubled(boundaries)
	}
	bucket.size(c.spec.BatchSize, c.batchedShape(t))
	c.spec.Bucket = bucket
}

// bucketTensor returns the tensor whose length chooses the bucket, or nil after a problem.
func (c bucketPart) bucketTensor(b *BucketConfig) *tensorState {
	t := c.tensor(b.Key("tensor"), b.Tensor)
	axis := int(b.Axis)
	switch {
	case t == nil:
		return nil
	case t.made:
		c.inConfig.Report(b.Key("tensor"), "%s is a secondary feature; only the length of a primary one can decide", decl.Quote(t.Name))
	case !t.shaped:
	case axis >= len(t.Shape):
		c.inConfig.Report(b.Key("axis"), "axis %d of a tensor of %s: %s", axis, processing.Dimensions(len(t.Shape)), processing.FormatShape(t.Shape))
	case t.Shape[axis] >= 0:
		c.inConfig.Report(b.Key("tensor"), "%s has size %d along axis %d in every example", decl.Quote(t.Name), t.Shape[axis], axis)
	case c.batchedShape(t)[axis] >= 0:
		c.inConfig.Report(b.Key("tensor"), "%s is padded to %d along axis %d in every batch; pad it to -1", decl.Quote(t.Name), c.batchedShape(t)[axis], axis)
	default:
		return t
	}
	return nil
}

// boundaries returns the boundaries in the config, or else computes them from
// max_waste. It returns nil after a problem.
func (c bucketPart) boundaries(b *BucketConfig) []int64 {
	if b.Has("boundaries") == b.Has("max_waste") {
		c.inConfig.Report(b.At, "needs either boundaries or max_waste")
		return nil
	}
	if b.Has("max_waste") {
		waste, ok := c.value(b.Key("max_waste"), tfbridge.Double, b.MaxWaste)
		if !ok {
			return nil
		}
		if w := waste.(float64); w < 0.01 || w > 0.99 {
			c.inConfig.Report(b.Key("max_waste"), "must be from 0.01 to 0.99, got %s", decl.Show(b.Key("max_waste")))
			return nil
		}
		return geometric(waste.(float64))
	}
	at := b.Key("boundaries")
	for i, n := range b.Boundaries[1:] {
		if n <= b.Boundaries[i] {
			c.inConfig.Report(at.Elem(i+1), "must be more than the boundary before it (%d), got %d", b.Boundaries[i], n)
			return nil
		}
	}
	return slices.Clone(b.Boundaries)
}

// geometric returns boundaries in a geometric sequence: padding any example to the
// greatest length of its bucket wastes at most the given share.
func geometric(waste float64) []int64 {
	boundaries := []int64{0} // an empty example batched with any other is all padding
	for least := int64(1); least < MaxDimension; {
		greatest := max(int64(float64(least)/(1-waste)), least)
		greatest = min(greatest, MaxDimension)
		boundaries = append(boundaries, greatest)
		least = greatest + 1
	}
	return boundaries
}

// doubled appends boundaries, each twice the previous one, up to the greatest
// possible length.
func doubled(boundaries []int64) []int64 {
	out := slices.Clone(boundaries)
	for last := max(out[len(out)-1], 1); last < MaxDimension; {
		last = min(2*last, MaxDimension)
		out = append(out, last)
	}
	return out
}

// size works out how many examples a batch of each bucket has, given the most
// and the shape of the tensor in a batch.
func (b *Bucket) size(most int64, shape []int64) {
	inner := int64(1)
	for axis, n := range shape {
		if axis != b.Axis && n >= 0 {
			inner = multiplySaturated(inner, n)
		}
	}
	for _, boundary := range b.Boundaries {
		n := most
		if each := multiplySaturated(boundary, inner); b.Elements > 0 && each > 0 {
			n = min(max(b.Elements/each, 1), most)
		}
		b.Sizes = append(b.Sizes, n)
	}
	longest := most
	if b.Elements > 0 {
		longest = 1 // nothing is that long
	}
	b.Sizes = append(b.Sizes, longest)
}

// batchStepPart checks the batch steps.
type batchStepPart struct{ *checker }

// batchSteps checks the batch steps, and keeps them in mode train.
func (c batchStepPart) batchSteps() {
	if c.examples == nil {
		return
	}
	for i := range c.examples.BatchSteps {
		s := &c.examples.BatchSteps[i]
		if s.At == nil || s.Bad("type", "tensors", "args") {
			continue
		}
		if s.Type == batches.SavedModel {
			batchedPart(c).model(len(c.args.ProcessingSteps)+i, s)
			continue
		}
		made := batches.Step{Type: s.Type, Index: i, Number: len(c.args.ProcessingSteps) + i, Tensors: s.Tensors}
		if a, ok := s.Args.(*batches.MixArgs); ok {
			made.Alpha = a.Alpha
		}
		switch {
		case s.Type == batches.ShuffleRows && s.Has("tensors"):
			c.inConfig.Report(s.Key("tensors"), "%s moves the rows of all tensors; remove tensors", s.Type)
		case s.Type != batches.ShuffleRows && !s.Has("tensors"):
			c.inConfig.Report(s.At, "missing key \"tensors\"")
		case !c.mixed(s):
		case c.mode() == ModeTrain:
			c.spec.BatchSteps = append(c.spec.BatchSteps, made)
		}
	}
	if c.spec.BatchSteps != nil {
		stepPart(c).draws()
	}
}

// mixed reports tensors that cannot be mixed, and returns false if there is one.
func (c batchStepPart) mixed(s *batches.BatchStepConfig) bool {
	ok := true
	for i, name := range s.Tensors {
		at := s.Key("tensors").Elem(i)
		t := c.tensor(at, name)
		if t == nil || !t.typed || !t.shaped {
			ok = false
			continue
		}
		floats := []dtype.DataType{dtype.Half, dtype.Bfloat16, dtype.Float, dtype.Double}
		switch {
		case slices.Contains(s.Tensors[:i], name):
			c.inConfig.Report(at, "%s is there twice", decl.Quote(name))
		case !slices.Contains(floats, t.DType):
			c.inConfig.Report(at, "%s mixes floating-point numbers, and %s is %s", s.Type, decl.Quote(name), t.DType).Hint = "one_hot makes numbers that can be mixed of a class, and cast of others"
		case s.Type == batches.Cutmix && i == 0 && len(t.Shape) != 3:
			c.inConfig.Report(at, "%s takes an image of shape [height, width, channels] first, and %s has shape %s", s.Type, decl.Quote(name), processing.FormatShape(t.Shape))
		default:
			continue
		}
		ok = false
	}
	return ok
}
