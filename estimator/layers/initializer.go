package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Initializer gives the initial value of a variable. The numbers are TensorFlow's
// for a seed, not those that Keras would draw; the distributions are Keras's. An
// initializer from elsewhere is a type with this method.
type Initializer interface {
	// Value adds the initial value, a float tensor of a shape.
	Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output
}

// Constant is the same number everywhere.
type Constant float64

// Zeros and Ones are constants.
const (
	Zeros Constant = 0
	Ones  Constant = 1
)

// Value adds the initial value.
func (c Constant) Value(s *graph.Scope, shape []int64, _ int64) tfbridge.Output {
	return graph.Fill(s, dims(s, shape), s.Const(float32(c)))
}

// dims returns a shape as a tensor.
func dims(s *graph.Scope, shape []int64) tfbridge.Output {
	return s.Const(append([]int64{}, shape...))
}

// RandomUniform draws from -Limit to Limit; Limit 0 means 0.05.
type RandomUniform struct{ Limit float64 }

// Value adds the initial value.
func (r RandomUniform) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	if r.Limit == 0 {
		r.Limit = 0.05
	}
	return uniform(s, shape, seed, r.Limit)
}

// RandomNormal draws from a normal distribution; StdDev 0 means 0.05.
type RandomNormal struct{ StdDev float64 }

// Value adds the initial value.
func (r RandomNormal) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	return normal(s, "StatelessRandomNormal", shape, seed, r.StdDev)
}

// TruncatedNormal draws from a normal distribution that is cut off at two standard
// deviations; StdDev 0 means 0.05.
type TruncatedNormal struct{ StdDev float64 }

// Value adds the initial value.
func (r TruncatedNormal) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	return normal(s, "StatelessTruncatedNormal", shape, seed, r.StdDev)
}

// normal draws from a normal distribution; a deviation of 0 means 0.05.
func normal(s *graph.Scope, op string, shape []int64, seed int64, deviation float64) tfbridge.Output {
	if deviation == 0 {
		deviation = 0.05
	}
	x := s.Op1(op, nil, dims(s, shape), s.Const([]int64{seed, 0}))
	return graph.Mul(s, x, s.Const(float32(deviation)))
}

// uniform draws from -limit to limit.
func uniform(s *graph.Scope, shape []int64, seed int64, limit float64) tfbridge.Output {
	x := s.Op1("StatelessRandomUniform", nil, dims(s, shape), s.Const([]int64{seed, 0}))
	return graph.Sub(s, graph.Mul(s, x, s.Const(float32(2*limit))), s.Const(float32(limit)))
}

// Orthogonal makes the columns, or the rows if there are fewer, orthogonal unit
// vectors.
type Orthogonal struct{}

// Value adds the initial value.
func (Orthogonal) Value(s *graph.Scope, shape []int64, seed int64) tfbridge.Output {
	cols := shape[len(shape)-1]
	rows := int64(1)
	for _, n := range shape[:len(shape)-1] {
		rows *= n
	}
	tall := []int64{max(rows, cols), min(rows, cols)}
	x := s.Op1("StatelessRandomNormal", nil, dims(s, tall), s.Const([]int64{seed, 0}))
	qr := s.Op("Qr", map[string]any{"full_matrices": false}, x)
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	signs := s.Op1("Sign", nil, s.Op1("MatrixDiagPart", nil, qr[1])) // makes the result unique
	q := graph.Mul(s, qr[0], signs)
	if rows < cols {
		q = s.Op1("Transpose", nil, q, s.Const([]int32{1, 0}))
	}
	return graph.Reshape(s, q, dims(s, shape))
}

// Values is the values themselves, such as weights from elsewhere.
type Values []float32

// Value adds the initial value.
func (v Values) Value(s *graph.Scope, shape []int64, _ int64) tfbridge.Output {
	return graph.Reshape(s, s.Const([]float32(v)), dims(s, shape))
}

// forgetBias is the bias of an LSTM: one for the forget gate, else zero.
type forgetBias struct{}

// Value adds the initial value.
func (forgetBias) Value(s *graph.Scope, shape []int64, _ int64) tfbridge.Output {
	units := shape[0] / 4
	values := make([]float32, shape[0])
	for i := units; i < 2*units; i++ {
		values[i] = 1
	}
	return s.Const(values)
}
