package layers

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// Initializers that choose the spread of a kernel's values by the number of inputs and
// outputs of a unit.
type (
	// GlorotUniform draws from -limit to limit, where limit is the root of
	// 6 / (inputs + outputs).
	GlorotUniform struct{}
	// GlorotNormal draws from a normal distribution of standard deviation
	// sqrt(2 / (inputs + outputs)), cut off at two standard deviations.
	GlorotNormal struct{}
	// HeUniform draws from -limit to limit, where limit is the root of 6 / inputs.
	HeUniform struct{}
	// HeNormal draws from a normal distribution of standard deviation sqrt(2 / inputs),
	// cut off at two standard deviations.
	HeNormal struct{}
	// LecunUniform draws from -limit to limit, where limit is the root of 3 / inputs.
	LecunUniform struct{}
	// LecunNormal draws from a normal distribution of standard deviation
	// sqrt(1 / inputs), cut off at two standard deviations.
	LecunNormal struct{}
)

// Value adds the initial value.
func (GlorotUniform) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	in, out := fans(shape)
	return scaledUniform(s, shape, seed, 2/max(1, in+out))
}

// Value adds the initial value.
func (GlorotNormal) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	in, out := fans(shape)
	return scaledNormal(s, shape, seed, 2/max(1, in+out))
}

// Value adds the initial value.
func (HeUniform) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	in, _ := fans(shape)
	return scaledUniform(s, shape, seed, 2/max(1, in))
}

// Value adds the initial value.
func (HeNormal) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	in, _ := fans(shape)
	return scaledNormal(s, shape, seed, 2/max(1, in))
}

// Value adds the initial value.
func (LecunUniform) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	in, _ := fans(shape)
	return scaledUniform(s, shape, seed, 1/max(1, in))
}

// Value adds the initial value.
func (LecunNormal) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	in, _ := fans(shape)
	return scaledNormal(s, shape, seed, 1/max(1, in))
}

// scaledUniform draws from a uniform distribution of that variance.
func scaledUniform(s *graph.Scope, shape []int64, seed int64, variance float64) tfbridge.Output {
	return uniform(s, shape, seed, math.Sqrt(3*variance))
}

// scaledNormal draws from a normal distribution that has that variance once it is cut
// off.
func scaledNormal(s *graph.Scope, shape []int64, seed int64, variance float64) tfbridge.Output {
	const cut = 0.87962566103423978 // what cutting off leaves of the standard deviation
	return normal(s, "StatelessTruncatedNormal", shape, seed, math.Sqrt(variance)/cut)
}

// fans returns how many inputs and outputs a unit of a layer has, by the shape of the
// layer's kernel.
func fans(shape []int64) (in, out float64) {
	switch len(shape) {
	case 0:
		return 1, 1
	case 1:
		return float64(shape[0]), float64(shape[0])
	}
	field := 1.0
	for _, n := range shape[:len(shape)-2] {
		field *= float64(n)
	}
	return field * float64(shape[len(shape)-2]), field * float64(shape[len(shape)-1])
}
