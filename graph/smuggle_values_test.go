package graph_test

import (
	"math"

	"millrace/internal/base/tfproto"
)

// hiddenInts makes a tensor of int32 that only a run knows.
func (s *smuggled) hiddenInts(name string, shape dims, v ...int32) string {
	s.numbers(name+"_value", shape, v...)
	s.hidden(name, name+"_value", i32)
	return name
}

// hiddenLongs makes a tensor of int64 that only a run knows.
func (s *smuggled) hiddenLongs(name string, shape dims, v ...int64) string {
	s.longs(name+"_value", shape, v...)
	s.hidden(name, name+"_value", i64)
	return name
}

// convolved makes a trick of the gradient of a convolution by its input, with sizes.
func convolved(what string, sizes ...int32) trick {
	return failing(what, "Conv2DBackpropInput", f32, func(s *smuggled) []string {
		return append(in(s.hiddenInts("sizes", dims{int64(len(sizes))}, sizes...)), given(dims{1, 1, 1, 1}, dims{1, 4, 4, 1})(s)...)
	}, "T", f32, "strides", ints{1, 1, 1, 1}, "padding", "SAME")
}

// pooled makes a trick of the gradient of a pool with positions of the largest elements,
// whose positions are in two batches of two images.
func pooled(what string, batch bool, positions ...int64) trick {
	return failing(what, "MaxPoolGradWithArgmax", f32, func(s *smuggled) []string {
		return append(given(dims{2, 2, 2, 1}, dims{2, 1, 1, 1})(s), s.hiddenLongs("positions", dims{2, 1, 1, 1}, positions...))
	}, "T", f32, "Targmax", i64, "ksize", ints{1, 2, 2, 1}, "strides", ints{1, 2, 2, 1}, "padding", "SAME", "include_batch_in_index", batch)
}

// valueTricks have arguments of sound types and shapes, with values that a kernel takes
// for positions, sizes or counts and does not look at.
var valueTricks = []trick{
	pooled("the largest element of a pool is at a negative position", false, 0, -1),
	pooled("the largest element of a pool is at a position of the next image", false, 4, 0),
	pooled("the largest element of a pool is in the image before, by a position that counts from the first", true, 0, 3),
	failing("a layer of cells runs for more steps than its input has", "BlockLSTMV2", f32, func(s *smuggled) []string {
		return append(in(s.hiddenLongs("steps", dims{}, 3)), given(dims{2, 1, 3}, dims{1, 2}, dims{1, 2}, dims{5, 8}, dims{2}, dims{2}, dims{2}, dims{8})(s)...)
	}, "T", f32),
	failing("a sparse matrix has a negative number of rows", "SparseTensorDenseMatMul", f32, func(s *smuggled) []string {
		s.longs("place", dims{1, 2}, 0, 0)
		given := given(dims{1}, dims{2, 2})(s)
		return in("place", given[0], s.hiddenLongs("shape", dims{2}, -1, 2), given[1])
	}, "T", f32, "Tindices", i64),
	failing("a ragged tensor ends before it begins", "RaggedTensorToTensor", f32, func(s *smuggled) []string {
		s.longs("shape", dims{2}, 2, 3)
		return append(append(in("shape"), given(dims{3}, dims{})(s)...), s.hiddenLongs("splits", dims{3}, 0, 1, -1))
	}, "T", f32, "Tindex", i64, "Tshape", i64, "num_row_partition_tensors", 1, "row_partition_types", strs{"ROW_SPLITS"}),
	convolved("the input of a convolution has a negative height", 1, -4, 4, 1),
	failing("a constant describes a huge input of a convolution by one number", "Conv2DBackpropInput", f32, func(s *smuggled) []string {
		s.op("sizes", "Const", nil, "dtype", i32, "value", &tfproto.TensorProto{Dtype: i32, TensorShape: attrOf(dims{4}).GetShape(), IntVal: []int32{1 << 30}})
		return append(in("sizes"), given(dims{1, 1, 1, 1}, dims{1, 4, 4, 1})(s)...)
	}, "T", f32, "strides", ints{1, 1, 1, 1}, "padding", "SAME"),
	failing("a box to crop is not a number", "CropAndResize", f32, func(s *smuggled) []string {
		s.numbers("first", dims{1}, 0)
		s.numbers("two", dims{2}, 2, 2)
		s.floats("box", dims{1, 4}, 0, float32(math.NaN()), 1, 1)
		s.hidden("boxes", "box", f32)
		return append(given(dims{1, 3, 3, 1})(s), "boxes", "first", "two")
	}, "T", f32),
	failing("the best two billion boxes are asked for", "CombinedNonMaxSuppression", f32, func(s *smuggled) []string {
		s.numbers("two", dims{}, 2)
		s.floats("half", dims{}, .5)
		return append(given(dims{1, 2, 1, 4}, dims{1, 2, 1})(s), "two", s.hiddenInts("many", dims{}, math.MaxInt32), "half", "half")
	}),
	failing("a pool's window has a negative height", "MaxPoolGradV2", f32, func(s *smuggled) []string {
		s.numbers("strides", dims{4}, 1, 2, 2, 1)
		return append(given(dims{1, 4, 4, 1}, dims{1, 2, 2, 1}, dims{1, 2, 2, 1})(s), s.hiddenInts("window", dims{4}, 1, -1, 2, 1), "strides")
	}, "T", f32, "padding", "SAME"),
	failing("a negative number of neighbours is asked for", "NearestNeighbors", i64, func(s *smuggled) []string {
		return append(given(dims{3, 2}, dims{2, 2})(s), s.hiddenLongs("k", dims{}, -1))
	}),
	convolved("the input of a convolution has three dimensions", 4, 4, 1),
	convolved("the input of a convolution has more elements than numbers", 1<<30, 1<<30, 1<<30, 1),
	failing("the input of a pool has three dimensions", "AvgPoolGrad", f32, func(s *smuggled) []string {
		return append(in(s.hiddenInts("sizes", dims{3}, 1, 4, 4)), given(dims{1, 2, 2, 1})(s)...)
	}, "T", f32, "ksize", ints{1, 2, 2, 1}, "strides", ints{1, 2, 2, 1}, "padding", "SAME"),
	refused("the gradient of a fractional pool begins before its input", "FractionalMaxPoolGrad", f32, func(s *smuggled) []string {
		return append(given(dims{1, 4, 4, 1}, dims{1, 2, 2, 1}, dims{1, 2, 2, 1})(s), s.hiddenLongs("rows", dims{3}, -1<<31, 2, 4), s.hiddenLongs("columns", dims{3}, 0, 2, 4))
	}, "T", f32),
	{"the gradient of a pool counts positions from the first image", "they are in their images", func(s *smuggled) {
		s.op("evil", "MaxPoolGradWithArgmax", append(given(dims{2, 2, 2, 1}, dims{2, 1, 1, 1})(s), s.hiddenLongs("positions", dims{2, 1, 1, 1}, 3, 7)), "T", f32, "Targmax", i64,
			"ksize", ints{1, 2, 2, 1}, "strides", ints{1, 2, 2, 1}, "padding", "SAME", "include_batch_in_index", true)
		s.run("evil", f32)
	}},
	{"the input of a convolution is described by height and width", "TensorFlow takes that, too", func(s *smuggled) {
		s.op("evil", "Conv2DBackpropInput", append(in(s.hiddenInts("sizes", dims{2}, 4, 4)), given(dims{1, 1, 1, 1}, dims{1, 4, 4, 1})(s)...), "T", f32, "strides", ints{1, 1, 1, 1}, "padding", "SAME")
		s.run("evil", f32)
	}},
}
