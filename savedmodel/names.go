package savedmodel

import (
	"millrace/savedmodel/sigdef"
)

// Signature is one way to call a model, see [sigdef.Signature].
type Signature = sigdef.Signature

// Tensor is an input or output of a signature, see [sigdef.Tensor].
type Tensor = sigdef.Tensor

// Encoding says how a tensor of a signature is put together.
type Encoding = sigdef.Encoding

// The encodings.
const (
	Dense     = sigdef.Dense
	Sparse    = sigdef.Sparse
	Ragged    = sigdef.Ragged
	Composite = sigdef.Composite
)
