package stage

import (
	"strings"

	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Check checks every record before it is parsed.
type Check struct {
	Native           bool             // the native operation checks by itself what it can
	BadRecords       *spec.BadRecords // nil = the first bad one ends the run
	Finite           []string         // names of features whose values must be finite
	RefuseDuplicates bool
	RefuseEmpty      bool // a record of 0 bytes is bad
	AllowEmpty       bool // a record of 0 bytes has no features
}

func check(c engine.Choice) []Stage {
	if !c.ChecksRecords() {
		return nil
	}
	k := Check{
		Native: c.ChecksNatively(), BadRecords: c.BadRecords, RefuseDuplicates: c.RefuseDuplicates,
		RefuseEmpty: c.RefusesEmptyRecords(), AllowEmpty: c.AllowEmptyRecords != nil && *c.AllowEmptyRecords,
	}
	for _, f := range c.Features {
		if f.Finite {
			k.Finite = append(k.Finite, f.Name)
		}
	}
	return []Stage{k}
}

// Explain says which records are bad, and what becomes of them.
func (k Check) Explain() Explained {
	what := "every record"
	if k.Native {
		what = "records that the native operation cannot decode for sure"
	}
	switch {
	case k.BadRecords == nil:
		what += ", the first bad one ends the run"
	case k.BadRecords.Text == "":
		what += ", bad ones are left out"
	default:
		what += ", bad ones are left out: " + k.BadRecords.Text
	}
	if len(k.Finite) > 0 {
		what += "; finite values in " + strings.Join(k.Finite, ", ")
	}
	if k.RefuseDuplicates {
		what += "; no key twice"
	}
	switch {
	case k.RefuseEmpty:
		what += "; no record of 0 bytes"
	case k.AllowEmpty:
		what += "; records of 0 bytes have no features"
	}
	return Explained{Name: "check", What: what}
}

// count subtracts the records that are known to be bad.
func (k Check) count(in Count, d Data) (Count, bool) {
	in.Elements -= d.Skipped
	return in, true
}
