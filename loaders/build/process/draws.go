package process

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// # What random steps draw
//
// The question: a random step must give the same for an example whatever the number of
// threads, the engine, shuffling, sharding, batch size, or where a run begins. A generator
// with a state gives numbers in the order of the calls.
//
// The answer: TensorFlow's stateless operations take a pair of int64 and have no state. The
// pair is [s, position]: position is the number of the example in the data, and s is made of
// the seed of the plan, the epoch, and the place of the step in the config:
//
//	s = mix(mix(mix(seed) ^ epoch) ^ step)
//
// mix is the finaliser of splitmix64, so that neighbouring numbers give pairs that have
// nothing in common.

// draw is the example that random steps draw for.
type draw struct {
	epoch    tfbridge.Output // mix(mix(seed) ^ epoch), uint64
	position tfbridge.Output // int64
}

// drawKey is the key of a draw in a scope.
type drawKey struct{}

// Drawn returns a scope in which random steps draw for one example: the epoch, and the position
// of the example in the data, are int64 scalars. For a batch of examples they are vectors, and so
// are the draws.
func (p *Processor) Drawn(s *graph.Scope, epoch, position tfbridge.Output) *graph.Scope {
	if s.Err() != nil {
		return s
	}
	seeded := s.Op1("BitwiseXor", nil, s.Const(mix64(uint64(p.Seed))), graph.Bitcast(s, epoch, tfbridge.Uint64))
	return s.WithValue(drawKey{}, draw{mix(s, seeded), position})
}

// seedOf returns the pair for a step in a scope of [Processor.Drawn].
func seedOf(s *graph.Scope, step int) tfbridge.Output {
	d, ok := s.Value(drawKey{}).(draw)
	if !ok || s.Err() != nil {
		return s.Const([]int64{0, int64(step)}) // outside a draw only shapes matter
	}
	mixed := mix(s, s.Op1("BitwiseXor", nil, d.epoch, s.Const(uint64(step))))
	return graph.Pack(s, []tfbridge.Output{graph.Bitcast(s, mixed, tfbridge.Int64), d.position}, -1)
}

// rounds are the shifts and factors of splitmix64's finaliser.
var rounds = []struct{ shift, factor uint64 }{{30, 0xbf58476d1ce4e5b9}, {27, 0x94d049bb133111eb}, {31, 0}}

// mix64 is splitmix64's finaliser.
func mix64(z uint64) uint64 {
	for _, r := range rounds {
		if z ^= z >> r.shift; r.factor != 0 {
			z *= r.factor
		}
	}
	return z
}

// mix is mix64 in a graph.
func mix(s *graph.Scope, z tfbridge.Output) tfbridge.Output {
	for _, r := range rounds {
		z = s.Op1("BitwiseXor", nil, z, s.Op1("RightShift", nil, z, s.Const(r.shift)))
		if r.factor != 0 {
			z = s.Op1("Mul", nil, z, s.Const(r.factor))
		}
	}
	return z
}
