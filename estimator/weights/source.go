// Package weights reads the weights of a model from the files of other programs:
// SavedModels, checkpoints of TensorFlow, files of Keras (".weights.h5", ".keras",
// ".h5") and safetensors. It assigns them to the variables of a model.
//
//	source, err := weights.Open("bert.safetensors")
//	match, err := weights.NewMatch(variables, source, &weights.Options{Map: []weights.Rename{{From: "bert/*", To: "encoder/*"}}})
//	for _, pair := range match.Taken {
//		value, err := source.Read(pair.Tensor, variables[pair.Variable].DType)
//	}
package weights

import (
	"context"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/tfbridge"
)

// Tensor is a tensor of a source.
type Tensor struct {
	Names []string // its names in the source, the most specific name first
	DType dtype.DataType
	Shape dtype.Shape

	// Layer and Index are the layer that the tensor belongs to and its number there, in
	// files of Keras that do not name weights. Layer is "" elsewhere.
	Layer string
	Index int
}

// Source is a file or folder with weights.
type Source struct {
	Path    string
	Format  string // "checkpoint", "Keras weights", "safetensors"
	Tensors []Tensor
	Skipped []string // tensors that cannot be read, each with the reason

	read  func(i int) (*tfbridge.Tensor, error)
	close func() error
}

// Close frees the resources of the source.
func (s *Source) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// Read reads a tensor and converts it to another type of floating point if that is
// asked for. The caller closes the tensor.
func (s *Source) Read(i int, as dtype.DataType) (*tfbridge.Tensor, error) {
	value, err := s.read(i)
	if err != nil || value.DataType() == as {
		return value, err
	}
	defer value.Close()
	scope := graph.NewScope()
	defer scope.Graph().Close()
	out, err := graph.Exec(context.Background(), scope, []tfbridge.Output{graph.Cast(scope, scope.Const(value), as)}, nil, nil)
	if err != nil {
		return nil, s.failure("%q: convert to %v: %w", s.Tensors[i].Names[0], as, err)
	}
	return out[0], nil
}

// failure is an error about the source.
func (s *Source) failure(format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrCheckpoint, format, args...)
	e.Op, e.File = "read weights", s.Path
	return e
}
