package images

import (
	"fmt"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// FactorArgs are the arguments of steps that draw a factor.
type FactorArgs struct {
	Lower float64 `json:"lower" decl:"required,min=0" doc:"The least factor."`
	Upper float64 `json:"upper" decl:"required,min=0" doc:"The greatest factor, more than lower."`
}

// valid reports limits that are in the wrong order, and returns false.
func (f *FactorArgs) valid(c *processing.Context, o *decl.Object) bool {
	if o.Bad("lower", "upper") {
		return false
	}
	if float32(f.Upper) <= float32(f.Lower) {
		c.Report(o.Key("upper"), "must be more than lower (%v), got %v", f.Lower, f.Upper)
		return false
	}
	return true
}

// String returns the limits.
func (f *FactorArgs) String() string { return fmt.Sprintf("%v to %v", f.Lower, f.Upper) }
