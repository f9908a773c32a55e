package convert

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"millrace/loaders/spec"
)

// Choices determine how to convert values that a record cannot store exactly. The zero
// value makes each of them an error, so values never change without the user's consent.
// A dataset's convert.json has the choices.
type Choices struct {
	InvalidUTF8     string `json:"invalid_utf8,omitempty"`     // ReplaceInvalid: replace bytes that are not text, and halves of surrogate pairs, by U+FFFD
	Overflow        string `json:"overflow,omitempty"`         // ToInfinity: a number that overflows 32 bits becomes infinite
	InexactIntegers string `json:"inexact_integers,omitempty"` // RoundIntegers: an integer in a column with fractions is rounded to 24 bits
}

// The choices other than an error.
const (
	ReplaceInvalid = "replace"
	ToInfinity     = "infinity"
	RoundIntegers  = "round"
)

// float adds a number that is stored as 32 bits.
func (v *values) float(x float64) error {
	if math.Abs(x) > math.MaxFloat32 && !math.IsInf(x, 0) && v.Overflow != ToInfinity {
		return fmt.Errorf("%v does not fit a float32, which is what a record stores; %s", x, overflowRemedy)
	}
	v.floats = append(v.floats, float32(x))
	return nil
}

const overflowRemedy = "correct the value, declare the column as string in a --manifest, or choose --overflow=infinity"

// parseFloat adds the number in a text.
func (v *values) parseFloat(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		if v.Overflow != ToInfinity {
			return textError(text, spec.Float, errors.New("does not fit a float32, which is what a record stores; "+overflowRemedy))
		}
	case err != nil:
		return textError(text, spec.Float, nil)
	case v.InexactIntegers != RoundIntegers && math.Abs(x) > exactFloat32 && !exactText(text, x):
		return inexact(text, x)
	}
	return v.float(x)
}

// parse adds the value in a text.
func (v *values) parse(text string, c *Column) error {
	switch c.Stored {
	case spec.Int:
		x, err := strconv.ParseInt(text, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return textError(text, c.Stored, errors.New("does not fit 64 bits; declare the column as float or string in a --manifest"))
		}
		if err != nil {
			return textError(text, c.Stored, nil)
		}
		v.ints = append(v.ints, x)
	case spec.Float:
		return v.parseFloat(text)
	default:
		v.texts = append(v.texts, []byte(text))
	}
	return nil
}

// exactFloat32 is the limit up to which a float32 represents all integers.
const exactFloat32 = 1 << 24

// exactText reports whether a text is a number with a fraction or an exponent, which
// counts as measured and may be rounded, or an integer that a float32 represents
// exactly.
func exactText(text string, x float64) bool {
	n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 10)
	if !ok || math.Abs(x) > math.MaxFloat32 {
		return true
	}
	rounded, _ := big.NewFloat(float64(float32(x))).Int(nil)
	return rounded.Cmp(n) == 0
}

// inexact is the error about an integer that rounding would change.
func inexact(text string, x float64) error {
	return fmt.Errorf("the integer %s is in a column of floating point, where it would become %s; declare the column as string in a --manifest, or choose --inexact-integers=round",
		text, strconv.FormatFloat(float64(float32(x)), 'f', 0, 64))
}

// integer adds an integer to a column of numbers.
func (v *values) integer(x int64, c *Column) error {
	switch c.Stored {
	case spec.Int:
		v.ints = append(v.ints, x)
		return nil
	case spec.Float:
		f := float32(x)
		if exact := f < 1<<63 && int64(f) == x; !exact && v.InexactIntegers != RoundIntegers {
			return inexact(strconv.FormatInt(x, 10), float64(x))
		}
		v.floats = append(v.floats, f)
		return nil
	}
	return fmt.Errorf("the number %d does not fit %s", x, c.DType)
}

// invalidText is the error about a text that is not valid UTF-8.
func invalidText(quoted string) error {
	return fmt.Errorf("%s is not valid UTF-8, or has half of a surrogate pair; correct it, or choose --invalid-utf8=replace", quoted)
}
