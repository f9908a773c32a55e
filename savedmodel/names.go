package savedmodel

import (
	"millrace/savedmodel/bundle"
	"millrace/sigdef"
)

// Signature is one way to call a model, see [sigdef.Signature].
type Signature = sigdef.Signature

// Tensor is an input or output of a signature, see [sigdef.Tensor].
type Tensor = sigdef.Tensor

// Encoding is the way a tensor of a signature is composed of components.
type Encoding = sigdef.Encoding

// The encodings.
const (
	Dense     = sigdef.Dense
	Sparse    = sigdef.Sparse
	Ragged    = sigdef.Ragged
	Composite = sigdef.Composite
)

// Variable is a tensor that a model restores.
type Variable = bundle.Variable

// ObjectGraphKey is the entry of a checkpoint that holds the graph of Python's objects,
// a serialized TrackableObjectGraph. It is not a variable.
const ObjectGraphKey = bundle.ObjectGraphKey

// MaxIndexBytes is the maximum size of variables.index.
const MaxIndexBytes = bundle.MaxIndexBytes
