package audio

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// TimeMaskArgs are the arguments of a step of type time_mask.
type TimeMaskArgs struct {
	decl.Object
	MaskArgs
}

// Check returns a step that sets parts of the first axis to 0, as SpecAugment does.
func (a *TimeMaskArgs) Check(c *processing.Context) processing.Step {
	return a.step(c, &a.Object, 0)
}
