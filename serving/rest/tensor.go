package rest

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"millrace"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

// builder makes a tensor of nested lists. The first value decides how deep lists
// nest, and the first list of each depth how long they are.
type builder struct {
	name  string // name of the input
	dtype tfbridge.DataType
	shape []int64 // -1 where no list has ended yet
	rank  int     // -1 until it is known
	words bool    // numbers that are not finite are strings
	raw   []byte
	texts []string
}

// newBuilder returns a builder of a data type.
func newBuilder(dt tfbridge.DataType) *builder { return &builder{dtype: dt, rank: -1} }

// add adds a value that is inside level lists.
func (b *builder) add(s *scanner, level int) error {
	if s.peek() != '[' {
		if b.rank < 0 {
			b.rank = level
		}
		if level != b.rank {
			return s.errorf("lists nest deeper in some places than in others: a value at depth %d, others are at depth %d", level, b.rank)
		}
		return b.element(s)
	}
	if b.rank >= 0 && level >= b.rank {
		return s.errorf("lists nest deeper in some places than in others: a list at depth %d, values are at this depth", level)
	}
	if len(b.shape) <= level {
		b.shape = append(b.shape, -1)
	}
	simple := 0
	n, err := s.list(func(int) error {
		simple += b.decimals(s, level+1)
		return b.add(s, level+1)
	})
	if err != nil {
		return err
	}
	n += simple
	if n == 0 && b.rank < 0 {
		b.rank = level + 1
	}
	return b.close(s, level, n)
}

// close records that a list at a depth has n elements.
func (b *builder) close(s *scanner, level, n int) error {
	for len(b.shape) <= level {
		b.shape = append(b.shape, -1)
	}
	if b.shape[level] < 0 {
		b.shape[level] = int64(n)
	}
	if b.shape[level] != int64(n) {
		return s.errorf("lists at depth %d differ in length: %d and %d", level, b.shape[level], n)
	}
	return nil
}

// rows returns the elements, which are numbers or bools. They are valid as long as the
// memory of the request.
func (b *builder) rows() batching.Rows {
	return batching.Rows{DType: b.dtype, Shape: b.shape[:max(b.rank, 0)], Bytes: b.raw}
}

// tensor returns the tensor. The caller closes it.
func (b *builder) tensor() (*tfbridge.Tensor, error) {
	shape := b.shape[:max(b.rank, 0)]
	if b.dtype == tfbridge.String {
		return tfbridge.NewStringTensor(shape, b.texts)
	}
	return tfbridge.NewTensorFromBytes(b.dtype, shape, b.raw)
}

// element takes one element.
func (b *builder) element(s *scanner) error {
	switch c := s.peek(); {
	case b.dtype == tfbridge.String && c == '{':
		raw, err := s.b64()
		b.texts = append(b.texts, string(raw))
		return err
	case b.dtype == tfbridge.String && c == '"':
		text, err := s.string()
		b.texts = append(b.texts, string(text))
		return err
	case b.words && c == '"':
		text, err := s.string()
		if word := string(text); err == nil && (word != "NaN" && word != "Infinity" && word != "-Infinity" || !b.append(word)) {
			err = s.errorf("%s is not a number of type %v", millrace.QuoteData(text), b.dtype)
		}
		return err
	case b.dtype == tfbridge.String || c == '{' || c == '"':
		return s.errorf("JSON Value %s is not of expected type: %v", s.shown(), b.dtype)
	}
	if b.decimal(s) {
		return nil
	}
	start := s.at
	text, err := s.scalar()
	if err != nil {
		return err
	}
	if ok := b.append(string(text)); !ok {
		s.at = start
		return s.errorf("JSON Value %s is not of expected type: %v", millrace.QuoteData(text), b.dtype)
	}
	return nil
}

// append appends a number or bool. It returns false if the type cannot hold the value.
func (b *builder) append(text string) bool {
	if b.dtype == tfbridge.Bool {
		switch text {
		case "true":
			b.raw = append(b.raw, 1)
		case "false":
			b.raw = append(b.raw, 0)
		default:
			return false
		}
		return true
	}
	if text == "true" || text == "false" || text == "null" {
		return false
	}
	order := binary.NativeEndian
	bits := 8 * b.dtype.Size()
	switch b.dtype {
	case tfbridge.Float:
		v, ok := parseFloat(text, bits)
		b.raw = order.AppendUint32(b.raw, math.Float32bits(float32(v)))
		return ok
	case tfbridge.Double:
		v, ok := parseFloat(text, bits)
		b.raw = order.AppendUint64(b.raw, math.Float64bits(v))
		return ok
	case tfbridge.Half, tfbridge.Bfloat16:
		v, ok := parseFloat(text, 32)
		h := half(b.dtype, float32(v))
		b.raw = order.AppendUint16(b.raw, h)
		return ok && (math.IsInf(v, 0) || !math.IsInf(halfFloat(b.dtype, h), 0))
	case tfbridge.Int8, tfbridge.Int16, tfbridge.Int32, tfbridge.Int64:
		v, err := strconv.ParseInt(text, 10, bits)
		b.raw = appendBits(b.raw, uint64(v), bits)
		return err == nil
	case tfbridge.Uint8, tfbridge.Uint16, tfbridge.Uint32, tfbridge.Uint64:
		v, err := strconv.ParseUint(text, 10, bits)
		b.raw = appendBits(b.raw, v, bits)
		return err == nil
	}
	return false
}

// parseFloat parses a number, or the word for one that is not finite. A number that the
// type rounds to infinity is refused.
func parseFloat(text string, bits int) (float64, bool) {
	switch strings.TrimPrefix(text, "-") {
	case "NaN":
		return math.NaN(), true
	case "Infinity", "Inf":
		sign := 1
		if text[0] == '-' {
			sign = -1
		}
		return math.Inf(sign), true
	}
	v, err := strconv.ParseFloat(text, bits)
	return v, err == nil
}

// half returns the 16-bit float that is nearest to v.
func half(dt tfbridge.DataType, v float32) uint16 {
	if dt == tfbridge.Half {
		return uint16(tfbridge.NewFloat16(v))
	}
	return uint16(tfbridge.NewBFloat16(v))
}

// halfFloat returns the value of a 16-bit float.
func halfFloat(dt tfbridge.DataType, h uint16) float64 {
	if dt == tfbridge.Half {
		return float64(tfbridge.Float16(h).Float32())
	}
	return float64(tfbridge.BFloat16(h).Float32())
}

// appendBits appends an integer with a number of bits.
func appendBits(raw []byte, v uint64, bits int) []byte {
	order := binary.NativeEndian
	switch bits {
	case 8:
		return append(raw, byte(v))
	case 16:
		return order.AppendUint16(raw, uint16(v))
	case 32:
		return order.AppendUint32(raw, uint32(v))
	}
	return order.AppendUint64(raw, v)
}
