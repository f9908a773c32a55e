package decl

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"millrace/diag"
	"millrace/internal/base/jsonpos"
)

// wanted describes the values of a type that the rules allow: "an integer or
// null", `"gzip", "zlib" or null`.
func wanted(t reflect.Type, u *rules) string {
	words := []string{kindOf(t).String()}
	switch {
	case t == reflect.TypeFor[int64]() || t == reflect.TypeFor[*int64]():
		words = []string{"an integer"}
	case t == reflect.TypeFor[float64]() || t == reflect.TypeFor[*float64]():
		words = []string{"a number"}
	case len(u.enum) > 0:
		words = quoted(u.enum)
	}
	if u.null {
		words = append(words, "null")
	}
	return series(words, "or")
}

// unquoted returns a hint to drop the quotes around a number, a boolean or
// null.
func unquoted(n *jsonpos.Node, want string) string {
	text := n.Text()
	_, err := strconv.ParseInt(text, 10, 64)
	number := err == nil && strings.Contains(want, "integer")
	if _, err := strconv.ParseFloat(text, 64); err == nil && strings.Contains(want, "a number") {
		number = true
	}
	boolean := (text == "true" || text == "false") && strings.Contains(want, "boolean")
	null := text == "null" && strings.Contains(want, "null")
	if number || boolean || null {
		return fmt.Sprintf("write %s without quotes", text)
	}
	return ""
}

// Integer returns the value of a number that is written as an integer: no
// fraction, no exponent. A number that does not fit an int64 becomes the
// nearest int64, which is still out of the declared range.
func Integer(n *jsonpos.Node) (int64, bool) {
	text := string(n.Number())
	if text == "" || strings.ContainsAny(text, ".eE") {
		return 0, false
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, true
	}
	if text[0] == '-' {
		return math.MinInt64, true
	}
	return math.MaxInt64, true
}

// fits reports whether an integer fits an int64.
func fits(n *jsonpos.Node) bool {
	_, err := strconv.ParseInt(string(n.Number()), 10, 64)
	return err == nil
}

func (r *Reporter) integer(n *jsonpos.Node, v reflect.Value, u *rules) bool {
	i, ok := Integer(n)
	if !ok {
		return r.mismatch(n, wanted(v.Type(), u))
	}
	v.SetInt(i)
	return r.InRange(n, i, Range{u.min, u.max, u.limit})
}

// real reads a number. JSON has no NaN and no infinity; a number that is too
// large for a float64 is refused.
func (r *Reporter) real(n *jsonpos.Node, v reflect.Value, u *rules) bool {
	f, err := strconv.ParseFloat(string(n.Number()), 64)
	v.SetFloat(f)
	switch {
	case err != nil:
		r.Report(n, "must be a number that a float64 holds, got %s", Show(n))
	case u.above != nil && f <= *u.above:
		r.Report(n, "must be above %s, got %s", realText(*u.above), Show(n))
	case u.min != nil && f < float64(*u.min):
		r.Report(n, "must be at least %d, got %s", *u.min, Show(n))
	case u.max != nil && f > float64(*u.max):
		r.Report(n, "must be at most %d, got %s", *u.max, Show(n))
	case u.below != nil && f >= *u.below:
		r.Report(n, "must be below %s, got %s", realText(*u.below), Show(n))
	default:
		return true
	}
	return false
}

// realText writes a number in the shortest form.
func realText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Range is the range of an integer. A nil end is open.
type Range struct {
	Min, Max *int64
	Limit    *int64 // as Max, but a larger value has the class Reporter.Limit
}

// InRange returns whether an integer is in its range, and reports a problem if
// it is not.
func (r *Reporter) InRange(n *jsonpos.Node, i int64, in Range) bool {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if in.Min != nil {
		low = *in.Min
	}
	if in.Max != nil {
		high = *in.Max
	}
	if in.Limit != nil {
		high = min(high, *in.Limit)
	}
	switch {
	case i < low || i == math.MinInt64 && !fits(n):
		r.Report(n, "must be at least %d, got %s", low, Show(n))
	case i > high || i == math.MaxInt64 && !fits(n):
		d := r.Report(n, "must be at most %d, got %s", high, Show(n))
		if in.Limit != nil && high == *in.Limit {
			d.Class = r.Limit
		}
	default:
		return true
	}
	return false
}

func (r *Reporter) text(n *jsonpos.Node, v reflect.Value, u *rules) bool {
	text := n.Text()
	v.SetString(text)
	if u.nonempty && text == "" {
		r.Report(n, "must not be empty")
		return false
	}
	if len(u.enum) == 0 || slices.Contains(u.enum, text) {
		return true
	}
	d := r.Report(n, "must be %s, got %s", wanted(v.Type(), u), Quote(text))
	if d.Hint = diag.DidYouMean(text, u.enum); d.Hint == "" {
		d.Hint = unquoted(n, wanted(v.Type(), u))
	}
	return false
}

// setDefault sets a field whose key is absent.
func (f *field) setDefault(v reflect.Value) {
	if f.fallback == nil {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(*f.fallback == "true")
	case reflect.Int64:
		v.SetInt(*integer("default", *f.fallback))
	case reflect.Float64:
		v.SetFloat(*number("default", *f.fallback))
	case reflect.String:
		v.SetString(*f.fallback)
	default:
		panic(fmt.Sprintf("decl: no default for %s", v.Type()))
	}
}
