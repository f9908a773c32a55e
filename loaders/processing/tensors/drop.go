package tensors

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// DropArgs are the arguments of a step of type drop, which has none.
type DropArgs struct{ decl.Object }

// Check returns nil: nothing is built.
func (a *DropArgs) Check(*processing.Context) processing.Step { return nil }
