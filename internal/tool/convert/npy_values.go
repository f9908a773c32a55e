package convert

import (
	"bytes"
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/float16"

	"millrace"
	"millrace/loaders/spec"
)

// npy adds the elements of a row of an array.
func (v *values) npy(row []byte, a *npyArray, c *Column) error {
	if a.size == 0 { // texts without a character
		n := int64(1)
		for _, d := range a.shape[1:] {
			n *= d
		}
		for range n {
			v.texts = append(v.texts, nil)
		}
		return nil
	}
	for ; len(row) >= a.size; row = row[a.size:] {
		if err := v.npyElement(row[:a.size], a, c); err != nil {
			return err
		}
	}
	return nil
}

// npyElement adds an element.
func (v *values) npyElement(b []byte, a *npyArray, c *Column) error {
	switch a.kind {
	case 'f':
		return v.real(a.float(b), c)
	case 'S', 'U':
		return v.npyText(b, a, c)
	}
	x := a.integer(b)
	if a.kind == 'u' && x < 0 && (c.Stored != spec.Int || c.DType != "uint64") {
		return fmt.Errorf("%d does not fit %s", uint64(x), c.DType)
	}
	return v.integer(x, c)
}

// float returns an element of kind f.
func (a *npyArray) float(b []byte) float64 {
	switch a.size {
	case 2:
		return float64(float16.FromBits(a.order.Uint16(b)).Float32())
	case 4:
		return float64(math.Float32frombits(a.order.Uint32(b)))
	}
	return math.Float64frombits(a.order.Uint64(b))
}

// integer returns an element that is an integer. A uint64 that is too large is negative.
func (a *npyArray) integer(b []byte) int64 {
	signed := a.kind != 'u' && a.kind != 'b'
	switch a.size {
	case 1:
		if signed {
			return int64(int8(b[0]))
		}
		return int64(b[0])
	case 2:
		if signed {
			return int64(int16(a.order.Uint16(b)))
		}
		return int64(a.order.Uint16(b))
	case 4:
		if signed {
			return int64(int32(a.order.Uint32(b)))
		}
		return int64(a.order.Uint32(b))
	}
	return int64(a.order.Uint64(b))
}

// npyText adds a text. NumPy pads texts with zeros.
func (v *values) npyText(b []byte, a *npyArray, c *Column) error {
	text := b
	if a.kind == 'U' {
		text = nil
		for ; len(b) >= 4; b = b[4:] {
			r := a.order.Uint32(b)
			if (r > unicode.MaxRune || !utf8.ValidRune(rune(r))) && v.InvalidUTF8 != ReplaceInvalid {
				return fmt.Errorf("the character %#x is not one of Unicode; correct it, or choose --invalid-utf8=replace", r)
			}
			text = utf8.AppendRune(text, rune(r))
		}
	}
	text = bytes.TrimRight(text, "\x00")
	if c.Stored != spec.String {
		return fmt.Errorf("%s does not fit %s", millrace.QuoteData(text), c.DType)
	}
	v.texts = append(v.texts, bytes.Clone(text))
	return nil
}
