package spec

import (
	"fmt"

	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// Value is a value of a tensor as it is written; see [processing.Value].
type Value = processing.Value

// value reads a value of a dtype; an absent value is zero. It reports a value that does
// not fit the dtype.
func (c *checker) value(at *jsonpos.Node, d tfbridge.DataType, v Value) (any, bool) {
	if v == nil {
		return ZeroValue(d), true
	}
	if v.Kind() == jsonpos.Null {
		return nil, false // reported when it was read
	}
	value, want := processing.ReadValue(v, d)
	if want == "" {
		return value, true
	}
	report := c.inConfig.Report(at, "must be %s for dtype %q, got %s", want, d.String(), decl.Show(v))
	if v.Kind() == jsonpos.String && processing.KindOf(d) != processing.StringKind {
		if inner, err := jsonpos.Parse([]byte(v.Text())); err == nil && processing.Readable(inner, d) {
			report.Hint = fmt.Sprintf("write %s without quotes", decl.Show(inner))
		}
	}
	return nil, false
}

// IsUnsigned reports whether the values of a dtype are unsigned integers.
func IsUnsigned(d tfbridge.DataType) bool { return processing.KindOf(d) == processing.UnsignedKind }

// ZeroValue returns the value of a tensor for which none is given.
func ZeroValue(d tfbridge.DataType) any { return processing.ZeroValue(d) }
