package text

import (
	"fmt"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// SubstrArgs are the arguments of a step of type substr.
type SubstrArgs struct {
	decl.Object
	Position int64 `json:"position" decl:"required,min=-2147483648,max=2147483647" doc:"The first byte to take, from 0; a negative one counts from the end. A string that has no such byte is a bad record."`
	Length   int64 `json:"length" decl:"required,min=0,max=2147483647" doc:"How many bytes to take, as far as the string has them."`
}

// Check returns a step that takes a part of each string.
func (a *SubstrArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Strings()
	if a.At == nil || a.Bad("position", "length") || !ok {
		return nil
	}
	return processing.Map{What: fmt.Sprintf("%d bytes from %d", a.Length, a.Position), To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("Substr", map[string]any{"unit": "BYTE"}, x, b.Const(int32(a.Position)), b.Const(int32(a.Length)))
	}}
}
