package graph

import (
	"millrace/tfbridge"
)

// philox is TensorFlow's number for its Philox generator.
const philox = 1

// StatelessRandomUniform adds a StatelessRandomUniformV2: float32 numbers, at least
// 0 and less than 1. The same seed, a vector of two integers, gives the same numbers
// in every process.
func StatelessRandomUniform(s *Scope, shape, seed tfbridge.Output) tfbridge.Output {
	key := s.Op("StatelessRandomGetKeyCounter", nil, seed)
	return s.Op1("StatelessRandomUniformV2", map[string]any{"dtype": tfbridge.Float}, shape, key[0], key[1], s.Const(int32(philox)))
}

// StatelessRandomUniformInt adds a StatelessRandomUniformIntV2: integers of
// minval's type, at least minval and less than maxval. The same seed, a vector
// of two integers, gives the same numbers in every process.
func StatelessRandomUniformInt(s *Scope, shape, seed, minval, maxval tfbridge.Output) tfbridge.Output {
	key := s.Op("StatelessRandomGetKeyCounter", nil, seed)
	alg := s.Const(int32(philox))
	return s.Op1("StatelessRandomUniformIntV2", nil, shape, key[0], key[1], alg, minval, maxval)
}

// StatelessRandomUniformIntAt is [StatelessRandomUniformInt] with the key and
// the counter of the generator, a vector of one and one of two uint64. Every
// counter gives two numbers of 64 bits, so that the numbers of a counter are
// the third and fourth of the counter before, however many are asked for.
func StatelessRandomUniformIntAt(s *Scope, shape, key, counter, minval, maxval tfbridge.Output) tfbridge.Output {
	return s.Op1("StatelessRandomUniformIntV2", nil, shape, key, counter, s.Const(int32(philox)), minval, maxval)
}

// StatelessTruncatedNormal adds a StatelessTruncatedNormalV2: normally distributed
// numbers of a data type of floating point, with mean 0, standard deviation 1 and none
// beyond 2. The same seed, a vector of two integers, gives the same numbers in every
// process.
func StatelessTruncatedNormal(s *Scope, shape, seed tfbridge.Output, dtype tfbridge.DataType) tfbridge.Output {
	key := s.Op("StatelessRandomGetKeyCounter", nil, seed)
	return s.Op1("StatelessTruncatedNormalV2", map[string]any{"dtype": dtype}, shape, key[0], key[1], s.Const(int32(philox)))
}

// AddNoise returns x, a tensor of floating point, plus noise of the same shape:
// [StatelessTruncatedNormal] times stddev. The same seed, a vector of two integers, gives
// the same noise: a pipeline derives it from the number of the element.
func AddNoise(s *Scope, x, seed tfbridge.Output, stddev float64) tfbridge.Output {
	noise := StatelessTruncatedNormal(s, Shape(s, x), seed, SpecOf(x).DType)
	return NewTensor(s, noise).Mul(stddev).Add(NewTensor(s, x)).Output()
}
