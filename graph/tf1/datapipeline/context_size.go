package datapipeline

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Network adds a network to a graph. It takes the tensors of a batch (see [DataProvider])
// and returns an output whose second dimension is time.
type Network func(s *graph.Scope, data map[string]tfbridge.Output) tfbridge.Output

// # The context of a network, by TensorFlow's own shapes
//
// A convolution without padding over k frames returns k - 1 frames fewer than it gets. A
// second one removes frames again, a dilation multiplies their number, and pooling counts
// like a convolution. We need no rules for these: TensorFlow infers the shape of every
// output. So we add the network to a separate graph, for inputs of a known number of
// frames, and look at the number of frames of the output. Two lengths tell whether the
// difference is a context: a network with a stride in time loses more of a longer input.

// ContextSize returns the number of frames by which the output of a network is shorter than
// its input: the sum of kernel size minus 1 over its convolutions without padding in time.
// ContextSize adds the network to a temporary graph. It is an error if the difference
// depends on the length, as with a stride, or cannot be inferred from the graph.
func (e *ExternData) ContextSize(network Network) (int, error) {
	if err := e.check(); err != nil {
		return 0, err
	}
	const frames, more = maxContext + 1000, 1000
	size, err := e.lost(network, frames)
	if err != nil {
		return 0, err
	}
	longer, err := e.lost(network, frames+more)
	if err != nil {
		return 0, err
	}
	if size != longer || size < 0 {
		return 0, millrace.Errorf(millrace.ErrModel, "the network makes %d frames of %d, and %d of %d; it must take the same number from each length, so it may have no stride in time and no output longer than its input", frames-size, frames, frames+more-longer, frames+more)
	}
	return int(size), nil
}

// lost returns the number of frames by which the output of a network is shorter than an
// input of the given length.
func (e *ExternData) lost(network Network, frames int64) (int64, error) {
	s := graph.NewScope()
	defer s.Graph().Close()
	data := map[string]tfbridge.Output{}
	for _, spec := range e.components(special()...) {
		dims := batched(spec.Shape).Dims()
		if e.Data[spec.Name].HasTimeAxis() {
			dims[1] = frames
		}
		data[spec.Name] = s.Placeholder(spec.DType, tfbridge.MakeShape(dims...))
	}
	out := network(s, data)
	if err := s.Err(); err != nil {
		return 0, err
	}
	if shape := out.Shape(); shape.NumDimensions() < 2 || shape.Size(1) < 0 {
		return 0, millrace.Errorf(millrace.ErrModel, "the output of the network has shape %v; its second dimension must be the time, and follow from the input's in the graph; set Chunking.Context instead", shape)
	}
	return frames - out.Shape().Size(1), nil
}

// withContext returns the options with the context that the network needs, unless a context
// is set. Half of it, rounded down, comes before a chunk.
func (o Options) withContext(e *ExternData) (Options, error) {
	if o.Network == nil || o.Chunking.Context != nil {
		return o, nil
	}
	size, err := e.ContextSize(o.Network)
	if err != nil {
		return o, err
	}
	o.Chunking.Context = map[string]Context{e.defaultInput(): {Left: size / 2, Right: size - size/2}}
	return o, o.Chunking.check(e)
}
