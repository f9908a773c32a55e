package graph_test

import (
	"fmt"
	"math"

	"millrace/internal/base/tfproto"
)

// given makes tensors of float32 of some shapes, which only a run knows, the
// inputs of a node.
func given(shapes ...dims) func(s *smuggled) []string {
	return func(s *smuggled) (names []string) {
		for i, d := range shapes {
			n := int64(1)
			for _, k := range d {
				n *= k
			}
			name := fmt.Sprint("given", i)
			s.floats(name+"_value", d, make([]float32, n)...)
			s.hidden(name, name+"_value", f32)
			names = append(names, name)
		}
		return names
	}
}

// stringsAnd makes a dataset of one string the first input of a node, and numbers of
// int64 the others.
func stringsAnd(numbers ...int64) func(s *smuggled) []string {
	return func(s *smuggled) []string {
		s.op("data", "TensorDataset", in("x"), "Toutput_types", types1, "output_shapes", list{{}})
		names := in("data")
		for i, n := range numbers {
			name := fmt.Sprint("number", i)
			s.longs(name, dims{}, n)
			names = append(names, name)
		}
		return names
	}
}

// dataset makes a trick of a dataset that the signature reads.
func dataset(what, op string, numbers []int64, attrs ...any) trick {
	return trick{what, "", func(s *smuggled) { s.reads("evil", op, stringsAnd(numbers...)(s), attrs...) }}
}

const huge = math.MaxInt64 / 4

var endTricks = []trick{
	{"a private attribute has a node forward the buffer of a constant", "", func(s *smuggled) {
		s.floats("f", dims{2}, 1, 2)
		s.hidden("h", "f", f32)
		s.op("evil", "Sqrt", in("h"), "T", f32, "_forward_input", ints{0, 0})
		s.run("evil", f32)
	}},
	{"a private attribute has a node allocate where there is nothing", "", func(s *smuggled) {
		s.floats("f", dims{2}, 1, 2)
		s.hidden("h", "f", f32)
		s.op("evil", "Sqrt", in("h"), "T", f32, "_scoped_allocator", ints{0, 77})
		s.run("evil", f32)
	}},
	{"a call asks for an optimizer of datasets without its parameters", "a call's options name no optimizer that runs", func(s *smuggled) {
		s.function("f", []string{"a"}, opNode("i", "Identity", in("a"), "T", str)).Ret["out"] = "i:output:0"
		// graph_options.rewrite_options.custom_optimizers.name
		name := "tf_auto_shard"
		custom := string([]byte{0x0a, byte(len(name))}) + name
		rewrite := string([]byte{0xc2, 0x0c, byte(len(custom))}) + custom + "\x88\x02\x01"
		graph := string([]byte{0x52, byte(len(rewrite))}) + rewrite
		s.graph().Node = append(s.graph().Node, attr(call1("c", "f", "x"), "config_proto", stringAttr(string([]byte{0x52, byte(len(graph))})+graph)))
		s.output("^c")
	}},
	{"a dataset asks for an optimization without its parameters", "TensorFlow leaves it out", func(s *smuggled) {
		s.constant("none")
		s.graph().Node = append(s.graph().Node, listNode("rewrites", "auto_shard"))
		s.reads("evil", "OptimizeDatasetV2", append(stringsAnd()(s), "rewrites", "none", "none"), "optimization_configs", strs{"auto_shard:num_workers:x"})
	}},
	{"a dataset is rewritten by an optimization without its parameters", returnsError, func(s *smuggled) {
		s.constant("rewrite", "slack")
		s.reads("evil", "RewriteDataset", append(stringsAnd()(s), "rewrite"))
	}},
	{"a dataset names its optimizations, one without its parameters", returnsError, func(s *smuggled) {
		s.constant("rewrite")
		s.graph().Node = append(s.graph().Node, listNode("rewrites", "slack"))
		s.reads("evil", "OptimizeDataset", append(stringsAnd()(s), "rewrites"))
	}},
	{"a call returns more than its function", "", func(s *smuggled) {
		s.function("same", []string{"a"})
		s.op("evil", "StatefulPartitionedCall", in("x"), "Tin", types1, "Tout", []tfproto.DataType{str, str}, "f", fn("same"))
		s.run("evil:1", str)
	}},
	{"a call returns less than its function", "", func(s *smuggled) {
		s.function("same", []string{"a"}).Attr = map[string]*tfproto.AttrValue{"_noinline": attrOf(true)}
		s.op("evil", "StatefulPartitionedCall", in("x"), "Tin", types1, "Tout", []tfproto.DataType{}, "f", fn("same"))
		s.output("^evil")
	}},
	{"a branch returns less than its functions", "", func(s *smuggled) {
		s.function("same", []string{"a"})
		s.op("evil", "If", in("x", "x"), "Tcond", str, "Tin", types1, "Tout", []tfproto.DataType{}, "then_branch", fn("same"), "else_branch", fn("same"))
		s.output("^evil")
	}},
	{"a call passes a number for a string", "", func(s *smuggled) {
		s.function("f", []string{"a"}, opNode("l", "StringUpper", in("a"))).Attr = map[string]*tfproto.AttrValue{"_noinline": attrOf(true)}
		s.numbers("n", dims{}, 1)
		s.op("evil", "StatefulPartitionedCall", in("n"), "Tin", []tfproto.DataType{i32}, "Tout", types1, "f", fn("f"))
		s.output("^evil")
	}},
	failing("a pool's strides do not fit into 32 bits", "MaxPool", f32, given(dims{1, 4, 4, 1}), "T", f32, "ksize", ints{1, 2, 2, 1}, "strides", ints{1, 1 << 40, 2, 1}, "padding", "SAME"),
	refused("a convolution's strides do not fit into 32 bits", "Conv2D", f32, given(dims{1, 4, 4, 1}, dims{1, 1, 1, 1}), "T", f32, "strides", ints{1, 1 << 40, 1, 1}, "padding", "SAME"),
	refused("a convolution has one stride", "Conv2DBackpropInput", f32, func(s *smuggled) []string {
		s.numbers("sizes", dims{4}, 1, 4, 4, 1)
		return append(in("sizes"), given(dims{1, 1, 1, 1}, dims{1, 4, 4, 1})(s)...)
	}, "T", f32, "strides", ints{1}, "padding", "SAME"),
	refused("a convolution has no stride", "Conv2DBackpropInput", f32, func(s *smuggled) []string {
		s.numbers("sizes", dims{4}, 1, 4, 4, 1)
		return append(in("sizes"), given(dims{1, 1, 1, 1}, dims{1, 4, 4, 1})(s)...)
	}, "T", f32, "strides", ints{1, 0, 0, 1}, "padding", "SAME"),
	refused("a convolution has a batch of minus one dimension", "Conv", f32, given(dims{1, 4, 4, 1}, dims{1, 1, 1, 1}), "T", f32, "strides", ints{1, 1}, "padding", "SAME", "batch_dims", -1),
	refused("integers of a variable are divided by zero", "ResourceScatterDiv", 0, func(s *smuggled) []string {
		s.numbers("zero", dims{}, 0)
		s.op("v", "VarHandleOp", nil, "dtype", i32, "shape", dims{2}, "shared_name", "v")
		s.numbers("two", dims{2}, 1, 2)
		s.op("assigned", "AssignVariableOp", in("v", "two"), "dtype", i32)
		return in("v", "zero", "zero", "^assigned")
	}, "dtype", i32, "Tindices", i32),
	refused("a generator's shape has 64 bits", "StatefulRandomBinomial", f32, func(s *smuggled) []string {
		s.longs("three", dims{3}, 1, 2, 3)
		s.op("state", "VarHandleOp", nil, "dtype", i64, "shape", dims{3}, "shared_name", "state")
		s.op("assigned", "AssignVariableOp", in("state", "three"), "dtype", i64)
		s.longs("algorithm", dims{}, 1)
		s.longs("shape", dims{1}, 2)
		s.floats("p", dims{}, 0.5)
		return in("state", "algorithm", "shape", "p", "p", "^assigned")
	}, "S", i64, "T", f32, "dtype", f32),
	refused("a loop runs two billion iterations at once", "Enter", str, func(*smuggled) []string { return in("x") }, "T", str, "frame_name", "f", "parallel_iterations", math.MaxInt32),
	refused("a histogram has a negative number of bins", "CustomAggregator", f32, given(dims{1}), "calibration_method", 5, "num_bins", -1, "min_percentile", 0.0, "max_percentile", 0.0, "id", "i"),
	refused("an ensemble of trees is made of bytes", "BoostedTreesCreateEnsemble", 0, func(s *smuggled) []string {
		s.longs("stamp", dims{}, 0)
		s.op("trees", "BoostedTreesEnsembleResourceHandleOp", nil, "shared_name", "trees")
		return in("trees", "stamp", "x")
	}),
	failing("the images of boxes to crop have four dimensions", "CropAndResizeGradBoxes", f32, func(s *smuggled) []string {
		s.numbers("none", dims{0, 1, 1, 1})
		s.hidden("first", "none", i32)
		return append(given(dims{0, 1, 1, 1}, dims{1, 1, 1, 1}, dims{0, 4})(s), "first")
	}, "T", f32),
	failing("a key of an Example is empty", "ParseExample", i64, func(s *smuggled) []string {
		s.floats("default", dims{2}, 1, 2)
		s.graph().Node = append(s.graph().Node, listNode("records", ""))
		s.constant("two", "a", "b")
		s.constant("none")
		s.hidden("first", "two", str)
		s.hidden("second", "none", str)
		return in("records", "records", "first", "second", "default")
	}, "Nsparse", 1, "Ndense", 1, "Tdense", []tfproto.DataType{f32}, "sparse_types", types1, "dense_shapes", list{{2}}),
	failing("two strings are padded to a gigabyte", "DecodePaddedRaw", tfproto.DataType_DT_UINT8, func(s *smuggled) []string {
		s.constant("two", "a", "b")
		s.numbers("gigabyte", dims{}, 1<<30)
		s.hidden("length", "gigabyte", i32)
		return in("two", "length")
	}, "out_type", tfproto.DataType_DT_UINT8),
	failing("a slice of a matrix has one position", "XlaDynamicSlice", f32, func(s *smuggled) []string {
		s.longs("one", dims{}, 1)
		s.hidden("start", "one", i64)
		s.hidden("size", "one", i64)
		return append(given(dims{2, 2})(s), "start", "size")
	}, "T", f32, "Tindices", i64),
	{"rows are gathered by more dimensions than a ragged tensor gets", returnsError, func(s *smuggled) {
		s.numbers("splits", dims{2}, 0, 1)
		s.longs("indices", dims{1, 1, 1}, 0)
		s.hidden("places", "indices", i64)
		s.op("evil", "RaggedGather", append(append(in("splits"), given(dims{1})(s)...), "places"),
			"Tvalues", f32, "Tindices", i64, "Tsplits", i32, "PARAMS_RAGGED_RANK", 1, "OUTPUT_RAGGED_RANK", 1)
		s.run("evil", i32)
	}},
	refused("a spectrogram's window does not fit into memory", "AudioSpectrogram", f32, given(dims{4, 1}), "window_size", math.MaxInt32, "stride", 7),
	refused("a number is written with two billion digits", "AsString", str, given(dims{1}), "T", f32, "precision", math.MaxInt32),
	failing("the ranges of a quantized tensor are not numbers", "Dequantize", f32, func(s *smuggled) []string {
		s.op("bytes", "Const", nil, "dtype", tfproto.DataType_DT_QUINT8, "value", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_QUINT8, TensorShape: attrOf(dims{2}).GetShape(), IntVal: []int32{1, 2}})
		return append(in("bytes"), given(dims{3}, dims{3})(s)...)
	}, "T", tfproto.DataType_DT_QUINT8),
	refused("a sampler counts below zero", "ThreadUnsafeUnigramCandidateSampler", 0, func(s *smuggled) []string { s.longs("c", dims{1, 1}, 0); return in("c") },
		"num_true", 1, "num_sampled", 1, "unique", true, "range_max", huge),
	refused("a batch has a million threads", "BatchFunction", str, func(s *smuggled) []string {
		s.function("batched", []string{"a"})
		s.graph().Node = append(s.graph().Node, listNode("words", "w"))
		return in("words")
	}, "f", fn("batched"), "num_batch_threads", 1<<20, "max_batch_size", 4, "batch_timeout_micros", 1, "Tin", types1, "Tcaptured", []tfproto.DataType{}, "Tout", types1),
	refused("a pool has a million threads", "ThreadPoolHandle", 0, nil, "num_threads", 1<<20, "display_name", "p"),
	{"an item of a list has a place for each dimension", returnsError, func(s *smuggled) {
		s.numbers("shape", dims{0})
		s.numbers("two", dims{2}, 0, 0)
		s.op("many", "PlaceholderWithDefault", in("two"), "dtype", i32, "shape", dims(nil))
		s.op("lists", "EmptyTensorList", in("shape", "many"), "element_dtype", f32, "shape_type", i32)
		s.op("evil", "TensorListGetItem", in("lists", "many", "shape"), "element_dtype", f32)
		s.run("evil", f32)
	}},
	{"an update of a scattered tensor has too few dimensions", returnsError, func(s *smuggled) {
		s.longs("at", dims{2, 1}, 0, 1)
		s.op("places", "PlaceholderWithDefault", in("at"), "dtype", i64, "shape", dims(nil))
		s.op("evil", "TensorScatterAdd", append(given(dims{4, 4})(s), "places", "given0"), "T", f32, "Tindices", i64)
		s.run("evil", f32)
	}},
	{"a hash of crosses has several seeds", "", func(s *smuggled) {
		s.longs("n", dims{3}, 3, 3, 3)
		s.op("many", "PlaceholderWithDefault", in("n"), "dtype", i64, "shape", dims(nil))
		s.op("yes", "Const", nil, "dtype", boolean, "value", &tfproto.TensorProto{Dtype: boolean, TensorShape: &tfproto.TensorShapeProto{}, BoolVal: []bool{true}})
		s.op("evil", "SparseCrossHashed", in("many", "yes", "many"), "N", 0, "sparse_types", []tfproto.DataType{}, "dense_types", []tfproto.DataType{})
		s.run("evil", i64)
	}},
	{"a variable of strings is an argument of a function that trains it as numbers", returnsError, func(s *smuggled) {
		s.floats("one", dims{}, 1)
		s.op("names", "VarHandleOp", nil, "dtype", str, "shape", dims{}, "shared_name", "names")
		s.op("assigned", "AssignVariableOp", in("names", "x"), "dtype", str)
		s.trains("train", f32)
		s.op("evil", "StatefulPartitionedCall", in("names", "one", "^assigned"), "Tin", []tfproto.DataType{resource, f32}, "Tout", []tfproto.DataType{f32}, "f", fn("train"))
		s.run("evil", f32)
	}},
	{"a function that trains numbers gets a variable of numbers, then one of strings", returnsError, func(s *smuggled) {
		s.floats("one", dims{}, 1)
		s.op("names", "VarHandleOp", nil, "dtype", str, "shape", dims{}, "shared_name", "names")
		s.op("assigned", "AssignVariableOp", in("names", "x"), "dtype", str)
		s.op("weights", "VarHandleOp", nil, "dtype", f32, "shape", dims{}, "shared_name", "weights")
		s.op("set", "AssignVariableOp", in("weights", "one"), "dtype", f32)
		s.trains("train", f32)
		s.op("sound", "StatefulPartitionedCall", in("weights", "one", "^set"), "Tin", []tfproto.DataType{resource, f32}, "Tout", []tfproto.DataType{f32}, "f", fn("train"))
		s.op("evil", "StatefulPartitionedCall", in("names", "sound", "^assigned"), "Tin", []tfproto.DataType{resource, f32}, "Tout", []tfproto.DataType{f32}, "f", fn("train"))
		s.run("evil", f32)
	}},
	{"a variable of strings, whose handle takes a way that only a run knows, is trained as numbers", returnsError, func(s *smuggled) {
		s.floats("one", dims{}, 1)
		s.op("names", "VarHandleOp", nil, "dtype", str, "shape", dims{}, "shared_name", "names")
		s.op("assigned", "AssignVariableOp", in("names", "x"), "dtype", str)
		s.hidden("way", "names", resource)
		s.op("evil", "ResourceApplyGradientDescent", in("way", "one", "one", "^assigned"), "T", f32)
		s.output("^evil")
	}},
	{"a variable of numbers, whose handle takes a way that only a run knows, is trained as numbers", "it is a variable of numbers", func(s *smuggled) {
		s.floats("one", dims{}, 1)
		s.op("weights", "VarHandleOp", nil, "dtype", f32, "shape", dims{}, "shared_name", "weights")
		s.op("assigned", "AssignVariableOp", in("weights", "one"), "dtype", f32)
		s.op("checked", "Identity", in("one", "^assigned"), "T", f32)
		s.hidden("way", "weights", resource)
		s.op("evil", "ResourceApplyGradientDescent", in("way", "checked", "checked"), "T", f32)
		s.output("^evil")
	}},
	failing("a cell of a recurrent layer has vectors for matrices", "LSTMBlockCell", f32, given(dims{2}, dims{2}, dims{2}, dims{4}, dims{1}, dims{1}, dims{1}, dims{4}), "T", f32),
	failing("a gated cell has scalars for matrices", "GRUBlockCell", f32, given(dims{}, dims{}, dims{}, dims{}, dims{}, dims{}), "T", f32),
	failing("a convolution gets a matrix for images", "Conv2D", f32, given(dims{4, 4}, dims{1, 1, 1, 1}), "T", f32, "strides", ints{1, 1, 1, 1}, "padding", "SAME"),
	{"a list of tensors has two billion elements at run time", returnsError, func(s *smuggled) {
		s.numbers("any", dims{}, -1)
		s.numbers("size", dims{}, math.MaxInt32)
		s.hidden("many", "size", i32)
		s.op("reserved", "TensorListReserve", in("any", "many"), "element_dtype", f32, "shape_type", i32)
		s.op("evil", "TensorListLength", in("reserved"))
		s.run("evil", i32)
	}},
	{"an array of tensors has two billion elements at run time", returnsError, func(s *smuggled) {
		s.numbers("size", dims{}, math.MaxInt32)
		s.hidden("many", "size", i32)
		s.op("evil", "TensorArrayV3", in("many"), "dtype", f32)
		s.output("^evil")
	}},
	failing("the indices of a scattered tensor have more dimensions than its updates", "ScatterNd", f32, func(s *smuggled) []string {
		s.numbers("indices", dims{2, 2, 1}, 0, 1, 0, 1)
		s.hidden("places", "indices", i32)
		s.numbers("sizes", dims{1}, 4)
		s.hidden("size", "sizes", i32)
		return append(in("places"), append(given(dims{2})(s), "size")...)
	}, "T", f32, "Tindices", i32),
	{"a dataset's window is larger than memory", "it grows with the elements", func(s *smuggled) {
		s.op("no", "Const", nil, "dtype", boolean, "value", &tfproto.TensorProto{Dtype: boolean, TensorShape: &tfproto.TensorShapeProto{}, BoolVal: []bool{false}})
		s.op("window", "WindowDataset", append(stringsAnd(huge, 1, 1)(s), "no"), "output_types", types1, "output_shapes", list{{}})
		s.op("evil", "DatasetToSingleElement", in("window"), "output_types", []tfproto.DataType{variant}, "output_shapes", list{nil})
		s.output("^evil")
	}},
	{"a sparse batch is larger than memory", "", func(s *smuggled) {
		s.longs("row", dims{1}, 1)
		s.op("lists", "ExpandDims", in("x", "axis"), "T", str)
		s.numbers("axis", dims{}, 0)
		s.op("batch_data", "TensorDataset", in("lists"), "Toutput_types", types1, "output_shapes", list{{1}})
		s.longs("size", dims{}, huge)
		s.op("batch", "DenseToSparseBatchDataset", in("batch_data", "size", "row"), "output_types", types1, "output_shapes", list{{-1, 1}})
		s.op("evil", "DatasetToSingleElement", in("batch"), "output_types", []tfproto.DataType{variant}, "output_shapes", list{nil})
		s.output("^evil")
	}},
	dataset("a sliding window is larger than memory", "SlidingWindowDataset", []int64{huge, 1, 1}),
	dataset("a shuffle's buffer is larger than memory", "ShuffleDataset", []int64{huge, 1, 1}),
	failed(dataset("a batch is larger than memory", "BatchDataset", []int64{huge})),
	dataset("a pool of a dataset has a million threads", "PrivateThreadPoolDataset", []int64{1 << 20}),
	{"a dataset interleaves more datasets than memory", "", func(s *smuggled) {
		f := s.function("f", []string{"a"}, opNode("d", "TensorDataset", in("a"), "Toutput_types", types1, "output_shapes", list{{}}))
		f.Signature.OutputArg[0].Type, f.Ret["out"] = variant, "d:handle:0"
		s.reads("evil", "InterleaveDataset", stringsAnd(huge, 1)(s), "f", fn("f"), "Targuments", []tfproto.DataType{})
	}},
	{"functions call each other in a chain of many thousands", "", func(s *smuggled) {
		s.function("f0", []string{"a"})
		for i := range 20000 {
			s.function(fmt.Sprint("f", i+1), []string{"a"}, call1("c", fmt.Sprint("f", i), "a")).Ret["out"] = "c:output:0"
		}
		s.graph().Node = append(s.graph().Node, call1("c", "f20000", "x"))
		s.output("^c")
	}},
	{"each of forty functions calls the next twice", "", func(s *smuggled) {
		s.function("f0", []string{"a"})
		for i := range 40 {
			below := fmt.Sprint("f", i)
			s.function(fmt.Sprint("f", i+1), []string{"a"}, call1("c", below, "a"), call1("d", below, "c:output:0")).Ret["out"] = "d:output:0"
		}
		s.graph().Node = append(s.graph().Node, call1("c", "f40", "x"))
		s.output("^c")
	}},
	{"a constant of one value has the shape of a petabyte", "", func(s *smuggled) {
		s.floats("c", dims{1 << 48}, 1)
		s.run("c", f32)
	}},
	{"the device of a node is another machine", returnsError, func(s *smuggled) {
		s.op("evil", "Identity", in("x"), "T", str)
		s.graph().Node[len(s.graph().Node)-1].Device = "/job:worker/task:7/device:CPU:0"
		s.output("^evil")
	}},
	{"a node's inputs make a circle", returnsError, func(s *smuggled) {
		s.op("a", "Identity", in("b"), "T", str)
		s.op("b", "Identity", in("a"), "T", str)
		s.output("^b")
	}},
	{"a copy is sent to a debugger's file", "no debugger is there", func(s *smuggled) {
		s.op("evil", "CopyHost", in("x"), "T", str, "tensor_name", "x:0", "debug_ops_spec", strs{"DebugIdentity;file://" + s.at("written") + ";0"})
		s.run("evil", str)
	}},
}

// trains makes a function that adds a number to the variable that is its argument.
func (s *smuggled) trains(name string, t tfproto.DataType) {
	f := s.function(name, []string{"variable", "delta"}, opNode("t", "ResourceApplyGradientDescent", in("variable", "delta", "delta"), "T", t),
		opNode("i", "Identity", in("delta", "^t"), "T", t))
	f.Signature.InputArg[0].Type, f.Signature.InputArg[1].Type = resource, t
	f.Signature.OutputArg[0].Type, f.Ret["out"] = t, "i:output:0"
	f.Attr = map[string]*tfproto.AttrValue{"_noinline": attrOf(true)}
}
