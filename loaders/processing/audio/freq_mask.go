package audio

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// FreqMaskArgs are the arguments of a step of type freq_mask.
type FreqMaskArgs struct {
	decl.Object
	MaskArgs
}

// Check returns a step that sets parts of the last axis to 0, as SpecAugment does.
func (a *FreqMaskArgs) Check(c *processing.Context) processing.Step {
	return a.step(c, &a.Object, -1)
}
