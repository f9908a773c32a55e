package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// RecurrentOptions are the options of LSTM, GRU and SimpleRNN. Nil and the zero value mean
// Keras's defaults.
type RecurrentOptions struct {
	Name            string // "": lstm, gru, lstm_1, ...
	ReturnSequences bool   // the result has the outputs of all steps; false: of the last one

	// Lengths is how many steps of each example are not padding, an integer vector
	// as a loader's secondary feature of type lengths gives it. At steps of padding
	// the state stays as it is, as with a mask in Keras. The zero Output means all.
	Lengths tfbridge.Output

	direction *direction // direction within Bidirectional; nil: forward
}

// LSTM is keras.layers.LSTM over x of shape [batch, steps, features]. The result has
// the shape [batch, units], or [batch, steps, units] with ReturnSequences.
//
//	i, f, g, o = split(x W + h U + b)
//	c := sigmoid(f) * c + sigmoid(i) * tanh(g)
//	h := sigmoid(o) * tanh(c)
func LSTM(n *Net, x tfbridge.Output, units int64, o *RecurrentOptions) tfbridge.Output {
	r := n.recurrent("lstm", x, units, o)
	kernel := n.Variable(r.name+"/lstm_cell/kernel", []int64{last(x), 4 * units}, nil)
	recurrent := n.Variable(r.name+"/lstm_cell/recurrent_kernel", []int64{units, 4 * units}, &VariableOptions{Initializer: Orthogonal{}})
	bias := n.Variable(r.name+"/lstm_cell/bias", []int64{4 * units}, &VariableOptions{Initializer: forgetBias{}})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	inputs := n.f("BiasAdd", nil, n.product(x, kernel, 4*units), bias)
	return r.run(inputs, 2, func(n *Net, x tfbridge.Output, state []tfbridge.Output) []tfbridge.Output {
		s, h, c := n.Scope, state[0], state[1]
		gates := n.split(graph.Add(s, x, n.f("MatMul", nil, h, recurrent)), 4)
		if s.Err() != nil {
			return nil
		}
		c = graph.Add(s, graph.Mul(s, Sigmoid(n, gates[1]), c), graph.Mul(s, Sigmoid(n, gates[0]), Tanh(n, gates[2])))
		return []tfbridge.Output{graph.Mul(s, Sigmoid(n, gates[3]), Tanh(n, c)), c}
	})
}

// SimpleRNN is keras.layers.SimpleRNN over x of shape [batch, steps, features]. The
// result has the same shape as with [LSTM].
//
//	h := tanh(x W + h U + b)
func SimpleRNN(n *Net, x tfbridge.Output, units int64, o *RecurrentOptions) tfbridge.Output {
	r := n.recurrent("simple_rnn", x, units, o)
	kernel := n.Variable(r.name+"/simple_rnn_cell/kernel", []int64{last(x), units}, nil)
	recurrent := n.Variable(r.name+"/simple_rnn_cell/recurrent_kernel", []int64{units, units}, &VariableOptions{Initializer: Orthogonal{}})
	bias := n.Variable(r.name+"/simple_rnn_cell/bias", []int64{units}, &VariableOptions{Initializer: Zeros})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	inputs := n.f("BiasAdd", nil, n.product(x, kernel, units), bias)
	return r.run(inputs, 1, func(n *Net, x tfbridge.Output, state []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{Tanh(n, graph.Add(n.Scope, x, n.f("MatMul", nil, state[0], recurrent)))}
	})
}

// GRU is keras.layers.GRU, with reset_after, over x of shape [batch, steps, features].
// The result has the same shape as with [LSTM].
//
//	xz, xr, xg = split(x W + b)        hz, hr, hg = split(h U + d)
//	z = sigmoid(xz + hz)               r = sigmoid(xr + hr)
//	h := z * h + (1 - z) * tanh(xg + r * hg)
func GRU(n *Net, x tfbridge.Output, units int64, o *RecurrentOptions) tfbridge.Output {
	r := n.recurrent("gru", x, units, o)
	kernel := n.Variable(r.name+"/gru_cell/kernel", []int64{last(x), 3 * units}, nil)
	recurrent := n.Variable(r.name+"/gru_cell/recurrent_kernel", []int64{units, 3 * units}, &VariableOptions{Initializer: Orthogonal{}})
	biases := n.Variable(r.name+"/gru_cell/bias", []int64{2, 3 * units}, &VariableOptions{Initializer: Zeros})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	bias := graph.Unpack(n.Scope, biases, 2, 0)
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	inputs := n.f("BiasAdd", nil, n.product(x, kernel, 3*units), bias[0])
	return r.run(inputs, 1, func(n *Net, x tfbridge.Output, state []tfbridge.Output) []tfbridge.Output {
		s, h := n.Scope, state[0]
		xs := n.split(x, 3)
		hs := n.split(n.f("BiasAdd", nil, n.f("MatMul", nil, h, recurrent), bias[1]), 3)
		if s.Err() != nil {
			return nil
		}
		update, reset := Sigmoid(n, graph.Add(s, xs[0], hs[0])), Sigmoid(n, graph.Add(s, xs[1], hs[1]))
		candidate := Tanh(n, graph.Add(s, xs[2], graph.Mul(s, reset, hs[2])))
		rest := graph.Sub(s, s.Const(float32(1)), update)
		return []tfbridge.Output{graph.Add(s, graph.Mul(s, update, h), graph.Mul(s, rest, candidate))}
	})
}

// split divides the last dimension of a matrix into equal parts.
func (n *Net) split(x tfbridge.Output, parts int) []tfbridge.Output {
	return n.Op("Split", map[string]any{"num_split": parts}, n.Const(int32(1)), x)
}

// recurrent is a recurrent layer.
type recurrent struct {
	n     *Net
	name  string
	units int64
	o     RecurrentOptions
}

// recurrent starts a recurrent layer.
func (n *Net) recurrent(kind string, x tfbridge.Output, units int64, o *RecurrentOptions) *recurrent {
	r := &recurrent{n: n, units: units}
	if o != nil {
		r.o = *o
	}
	r.name = r.o.direction.layer(n, r.o.Name, kind)
	if rank := graph.SpecOf(x).Shape.NumDimensions(); n.Err() == nil && rank != 3 {
		n.fail("%s: the input has the shape %v; it must be [batch, steps, features]", r.name, x.Shape())
	}
	return r
}

// run adds the loop over the steps. inputs are the cell's inputs, of shape [batch, steps,
// size]. cell computes the new states, the first of which is the output.
//
// The loop reads and writes its steps through lists of tensors. Each iteration takes
// an element and sets one, so nothing is copied.
func (r *recurrent) run(inputs tfbridge.Output, states int, cell func(n *Net, x tfbridge.Output, state []tfbridge.Output) []tfbridge.Output) tfbridge.Output {
	n, s := r.n, r.n.Scope.SubScope(r.name)
	shape := graph.Shape(s, inputs)
	steps := graph.Cast(s, graph.Subscript(s, shape, graph.At(1)), tfbridge.Int32)
	batch := graph.Subscript(s, shape, graph.At(0))
	size := last(inputs)
	first := s.Op1("Transpose", nil, inputs, s.Const([]int32{1, 0, 2}))
	element, output := s.Const([]int32{-1, int32(size)}), s.Const([]int32{-1, int32(r.units)})
	list := s.Op1("TensorListFromTensor", nil, first, element)
	results := s.Op1("TensorListReserve", map[string]any{"element_dtype": tfbridge.Float}, output, steps)
	zero := graph.Fill(s, graph.Pack(s, []tfbridge.Output{batch, s.Const(r.units)}, 0), s.Const(float32(0)))
	vars := []tfbridge.Output{s.Const(int32(0)), results}
	shapes := []tfbridge.Shape{tfbridge.ScalarShape(), tfbridge.ScalarShape()}
	for range states {
		vars, shapes = append(vars, zero), append(shapes, tfbridge.MakeShape(-1, r.units))
	}
	out := graph.While(s, vars, func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
		return graph.Less(s, v[0], steps)
	}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
		inner := *n
		inner.Scope = s
		at := r.o.direction.step(s, v[0], steps)
		x := s.Op1("TensorListGetItem", map[string]any{"element_dtype": tfbridge.Float}, list, at, s.Const([]int32{-1, int32(size)}))
		state := r.masked(s, at, cell(&inner, x, v[2:]), v[2:])
		if s.Err() != nil {
			return nil
		}
		set := s.Op1("TensorListSetItem", nil, v[1], at, state[0])
		return append([]tfbridge.Output{graph.Add(s, v[0], s.Const(int32(1))), set}, state...)
	}, &graph.WhileOptions{Shapes: shapes})
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	if !r.o.ReturnSequences {
		return out[2]
	}
	all := s.Op1("TensorListStack", map[string]any{"element_dtype": tfbridge.Float}, out[1], output)
	return n.shaped(s.Op1("Transpose", nil, all, s.Const([]int32{1, 0, 2})), inputs, r.units)
}

// masked keeps the states of examples that have ended before a step.
func (r *recurrent) masked(s *graph.Scope, step tfbridge.Output, state, old []tfbridge.Output) []tfbridge.Output {
	if r.o.Lengths.Op == nil || s.Err() != nil {
		return state
	}
	alive := graph.ExpandDims(s, graph.Greater(s, graph.Cast(s, r.o.Lengths, tfbridge.Int32), step), -1)
	kept := make([]tfbridge.Output, len(state))
	for i := range state {
		kept[i] = graph.Select(s, alive, state[i], old[i])
	}
	return kept
}
