package layers

import (
	"testing"

	"millrace/graph"
	"millrace/tfbridge"
)

// both calls a layer of two inputs with x and with x / 2 - 0.1.
func both(f func(n *Net, x, y tfbridge.Output) tfbridge.Output) func(n *Net, x, lengths tfbridge.Output) tfbridge.Output {
	return func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		half := graph.Mul(n.Scope, x, n.Const(float32(0.5)))
		return f(n, x, graph.Sub(n.Scope, half, n.Const(float32(0.1))))
	}
}

// several is both for a layer of any number of inputs.
func several(f func(n *Net, xs ...tfbridge.Output) tfbridge.Output) func(n *Net, x, lengths tfbridge.Output) tfbridge.Output {
	return both(func(n *Net, x, y tfbridge.Output) tfbridge.Output { return f(n, x, y) })
}

// integers is a layer that gives integers, as floats.
func integers(f func(n *Net, x tfbridge.Output) tfbridge.Output) func(n *Net, x, lengths tfbridge.Output) tfbridge.Output {
	return func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return graph.Cast(n.Scope, f(n, x), tfbridge.Float)
	}
}

// moreCases are the layers of testdata/record_more.py.
var moreCases = map[string]func(n *Net, x, lengths tfbridge.Output) tfbridge.Output{
	"group_norm": activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return GroupNormalization(n, x, 2, nil) }),
	"instance_norm": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return GroupNormalization(n, x, -1, &NormalizationOptions{Epsilon: 0.01})
	}),
	"rms_norm":  activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return RMSNormalization(n, x, nil) }),
	"unit_norm": activation(UnitNormalization),
	"normalization": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return Normalization(n, x, []float32{0.1, 0.2, 0.3, 0.4}, []float32{1, 2, 0.5, 0})
	}),
	"rescaling":      activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return Rescaling(n, x, 0.5, -1) }),
	"discretization": integers(func(n *Net, x tfbridge.Output) tfbridge.Output { return Discretization(n, x, []float32{-0.5, 0, 0.7}) }),
	"multi_hot":      activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return CategoryEncoding(n, x, 6, MultiHot) }),
	"count":          activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return CategoryEncoding(n, x, 6, Count) }),
	"integer_lookup": integers(func(n *Net, x tfbridge.Output) tfbridge.Output { return IntegerLookup(n, x, []int64{2, 5, 1}) }),
	"hashing":        integers(func(n *Net, x tfbridge.Output) tfbridge.Output { return Hashing(n, x, 100) }),
	"add":            several(Add), "multiply": several(Multiply), "maximum": several(Maximum), "minimum": several(Minimum), "average": several(Average),
	"subtract": both(Subtract),
	"concatenate": both(func(n *Net, x, y tfbridge.Output) tfbridge.Output {
		return Concatenate(n, -1, x, y)
	}),
	"dot":            both(func(n *Net, x, y tfbridge.Output) tfbridge.Output { return Dot(n, x, y, nil) }),
	"dot_normalized": both(func(n *Net, x, y tfbridge.Output) tfbridge.Output { return Dot(n, x, y, &DotOptions{Normalize: true}) }),
	"dot_batches": both(func(n *Net, x, y tfbridge.Output) tfbridge.Output {
		return Dot(n, x, y, &DotOptions{Axes: [2]int{2, 2}})
	}),
	"dot_positions":      both(func(n *Net, x, y tfbridge.Output) tfbridge.Output { return Dot(n, x, y, nil) }),
	"attention":          both(Attention),
	"additive_attention": both(func(n *Net, x, y tfbridge.Output) tfbridge.Output { return AdditiveAttention(n, x, y, "") }),
	"grouped_query": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return GroupedQueryAttention(n, x, x, 4, &AttentionOptions{KeySize: 3, ValueHeads: 2})
	}),
	"conv3d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return Conv3D(n, x, 2, []int64{2, 2, 3}, &ConvOptions{Strides: []int64{1, 2, 1}, Same: true, Activation: Relu})
	}),
	"max_pool_3d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return MaxPool3D(n, x, []int64{2, 2, 2}, nil) }),
	"average_pool_3d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return AveragePool3D(n, x, []int64{1, 2, 2}, &PoolOptions{Strides: []int64{1, 1, 1}, Same: true})
	}),
	"global_average_3d": activation(GlobalAveragePool3D), "global_max_3d": activation(GlobalMaxPool3D),
	"up_sampling_1d":  activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return UpSampling(n, x, 2) }),
	"up_sampling_3d":  activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return UpSampling(n, x, 1, 2, 1) }),
	"zero_padding_1d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return ZeroPadding(n, x, [2]int64{1, 2}) }),
	"zero_padding_3d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return ZeroPadding(n, x, [2]int64{1, 0}, [2]int64{0, 1}, [2]int64{1, 1})
	}),
	"cropping_1d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return Cropping(n, x, [2]int64{1, 2}) }),
	"cropping_2d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return Cropping(n, x, [2]int64{1, 0}, [2]int64{2, 1}) }),
	"cropping_3d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return Cropping(n, x, [2]int64{0, 1}, [2]int64{1, 1}, [2]int64{2, 0})
	}),
	"depthwise_1d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return DepthwiseConv1D(n, x, 3, &DepthwiseOptions{Stride: 2, Multiplier: 2, Activation: Tanh})
	}),
	"separable_1d": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return SeparableConv1D(n, x, 3, 2, &DepthwiseOptions{Same: true})
	}),
	"p_re_lu":        activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return PRelu(n, x, "") }),
	"p_re_lu_shared": activation(func(n *Net, x tfbridge.Output) tfbridge.Output { return PRelu(n, x, "", 1, 2) }),
	"time_distributed": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return TimeDistributed(n, x, func(n *Net, x tfbridge.Output) tfbridge.Output { return Conv1D(n, x, 2, 2, nil) })
	}),
	"hard_sigmoid": activation(HardSigmoid), "hard_swish": activation(HardSwish), "mish": activation(Mish),
}

// The layers that were recorded later also agree with Keras's.
func TestMoreOfKeras(t *testing.T) { compareWithKeras(t, "testdata/more.json", moreCases) }

// words is the vocabulary of the recorded texts.
var words = []string{"a", "river", "runs"}

// lastCases are the layers of testdata/record_last.py.
var lastCases = map[string]func(n *Net, x, lengths tfbridge.Output) tfbridge.Output{
	"conv1d_transpose": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return Conv1DTranspose(n, x, 3, 3, &ConvOptions{Strides: []int64{2}, Activation: Relu})
	}),
	"conv1d_transpose_same": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return Conv1DTranspose(n, x, 2, 2, &ConvOptions{Strides: []int64{3}, Same: true, NoBias: true})
	}),
	"conv3d_transpose": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return Conv3DTranspose(n, x, 2, []int64{2, 3, 1}, &ConvOptions{Strides: []int64{1, 2, 2}})
	}),
	"conv3d_transpose_same": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return Conv3DTranspose(n, x, 2, []int64{2, 2, 2}, &ConvOptions{Strides: []int64{2, 1, 2}, Same: true})
	}),
	"relu": activation(ReluWith(0.1, 0.3, 1.2)), "relu_max": activation(ReluWith(0, 0, 0.5)), "relu_threshold": activation(ReluWith(0, 0.4, 0)),
	"leaky_relu": activation(LeakyReluWith(0.3)), "elu": activation(EluWith(0.7)),
	"masking": activation(func(n *Net, x tfbridge.Output) tfbridge.Output {
		y, _ := Masking(n, x, 0.5)
		return y
	}),
	"mask": integers(func(n *Net, x tfbridge.Output) tfbridge.Output {
		_, mask := Masking(n, x, 0.5)
		return mask
	}),
	"text": integers(func(n *Net, x tfbridge.Output) tfbridge.Output { return TextVectorization(n, x, words, nil) }),
	"text_cut": integers(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return TextVectorization(n, x, words, &TextOptions{Length: 2})
	}),
	"text_long": integers(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return TextVectorization(n, x, words, &TextOptions{Length: 9, KeepPunctuation: true})
	}),
	"text_cased": integers(func(n *Net, x tfbridge.Output) tfbridge.Output {
		return TextVectorization(n, x, words, &TextOptions{KeepCase: true})
	}),
}

// And those that were recorded last.
func TestLastOfKeras(t *testing.T) { compareWithKeras(t, "testdata/last.json", lastCases) }
