package graph

import (
	"millrace/tfbridge"
)

// philox is TensorFlow's number for its Philox generator.
const philox = 1

// StatelessRandomUniformInt adds a StatelessRandomUniformIntV2: integers of
// minval's type, at least minval and less than maxval. The same seed, a vector
// of two integers, gives the same numbers in every process.
func StatelessRandomUniformInt(s *Scope, shape, seed, minval, maxval tfbridge.Output) tfbridge.Output {
	key := s.Op("StatelessRandomGetKeyCounter", nil, seed)
	if len(key) != 2 {
		return tfbridge.Output{}
	}
	alg := s.Const(int32(philox))
	return s.Op1("StatelessRandomUniformIntV2", nil, shape, key[0], key[1], alg, minval, maxval)
}
