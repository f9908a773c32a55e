// Package op has a function for each public operation of TensorFlow: more than 1,600 of
// them, generated from the runtime's own definitions. It has everything in TensorFlow's
// Go package op, under the same names and with the same parameters. It adds the
// operations that package omits: those that take functions, those on references, and
// those without documentation.
//
//	s := op.NewScope()
//	defer s.Graph().Close()
//	input := op.Placeholder(s, tf.Float)
//	product := op.MatMul(s, op.Const(s, [][]float32{{10}, {20}}), input, op.MatMulTransposeB(true))
//
// A function takes the scope, the operation's inputs, then the attributes that have no
// default. The others are options, each a function whose name begins with the
// operation's. Attributes that follow from the inputs, such as their types, are
// inferred. The results are the operation's outputs, or the operation itself if it has
// none.
//
// Nothing returns an error: the first failure sticks to the scope, as package
// graph says, and from then on results are zero values.
//
// An attribute that is a function takes its name, as [graph.Func.Attr] gives
// it. What the function captures is passed as inputs:
//
//	f := s.Func("double", in, nil, body)
//	results := op.PartitionedCall(s, append(args, f.Captures...), graph.DTypes(f.Out), f.Attr())
//
// Comments name types by attribute: an input "x: T" is of the type that the
// attribute T says, which follows from x itself.
//
// Package graph has shorter functions for common operations. No other package of this
// module imports this one, and a program only links the functions that it calls.
package op
