package rest

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"millrace"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

// appendRows appends the answer by row: {"predictions": [...]}. With one output a
// row is its value, with more it is an object.
func appendRows(b []byte, m *scratch, outputs []batching.Output) ([]byte, error) {
	writers, err := m.writersOf(outputs)
	if err != nil {
		return nil, err
	}
	rows := int64(-1)
	for i := range writers {
		w := &writers[i]
		switch {
		case len(w.shape) == 0:
			return nil, invalid("Tensor name: %s has no shape information: it is a scalar and has no rows; ask by \"inputs\"", w.name)
		case rows >= 0 && w.shape[0] != rows:
			return nil, invalid("Tensor name: %s has inconsistent batch size: %d expecting: %d; ask by \"inputs\"", w.name, w.shape[0], rows)
		}
		rows = w.shape[0]
	}
	b = append(b, `{"predictions":[`...)
	for i := range max(rows, 0) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNamed(b, writers, func(b []byte, w *writer) []byte { return w.value(b, 1) })
	}
	return append(b, "]}\n"...), nil
}

// appendColumns appends the answer by column: {"outputs": ...}. With one output it
// is its value, with more an object.
func appendColumns(b []byte, m *scratch, outputs []batching.Output) ([]byte, error) {
	writers, err := m.writersOf(outputs)
	if err != nil {
		return nil, err
	}
	b = append(b, `{"outputs":`...)
	b = appendNamed(b, writers, func(b []byte, w *writer) []byte { return w.value(b, 0) })
	return append(b, "}\n"...), nil
}

// appendNamed appends the values of writers: by name, or without a name if there is
// only one.
func appendNamed(b []byte, writers []writer, value func([]byte, *writer) []byte) []byte {
	if len(writers) == 1 {
		return value(b, &writers[0])
	}
	b = append(b, '{')
	for i := range writers {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, writers[i].name)
		b = append(b, ':')
		b = value(b, &writers[i])
	}
	return append(b, '}')
}

// writer writes the elements of a tensor, one after the other.
type writer struct {
	name    string
	shape   []int64
	room    [8]int64 // array of the shape
	at      int64
	element func(b []byte, i int64) []byte
}

// writersOf returns the writers of outputs. They are valid until the next call.
func (s *scratch) writersOf(outputs []batching.Output) ([]writer, error) {
	if len(outputs) == 0 {
		return nil, invalid("the signature has no outputs that can be written as JSON")
	}
	s.writers = slices.Grow(s.writers[:0], len(outputs))[:len(outputs)]
	for i := range outputs {
		if err := s.writers[i].init(&outputs[i]); err != nil {
			return nil, invalid("output %q: %w", outputs[i].Name, err)
		}
	}
	return s.writers, nil
}

// init makes w the writer of an output.
func (w *writer) init(o *batching.Output) (err error) {
	*w = writer{name: o.Name}
	w.shape = o.Tensor.AppendShape(w.room[:0])
	if len(w.shape) == 0 {
		w.element, err = elementsOf(o.Name, o.Tensor)
		return err
	}
	row := int64(1)
	for _, n := range w.shape[1:] {
		row *= n
	}
	w.shape[0] = o.Rows
	if o.Tensor.DataType() == tfbridge.String { // whose texts are copied, so only those of the rows
		own, err := tfbridge.AllocateTensor(tfbridge.String, w.shape)
		if err != nil {
			return err
		}
		defer own.Close()
		if err := own.CopyElements(0, o.Tensor, o.Start*row, o.Rows*row); err != nil {
			return err
		}
		w.element, err = elementsOf(o.Name, own)
		return err
	}
	w.at = o.Start * row
	w.element, err = elementsOf(o.Name, o.Tensor)
	return err
}

// value appends the next values, nested by the dimensions from dim on.
func (w *writer) value(b []byte, dim int) []byte {
	if dim >= len(w.shape) {
		w.at++
		return w.element(b, w.at-1)
	}
	b = append(b, '[')
	for i := range w.shape[dim] {
		if i > 0 {
			b = append(b, ',')
		}
		b = w.value(b, dim+1)
	}
	return append(b, ']')
}

// elementsOf returns a function that appends an element of a tensor.
func elementsOf(name string, t *tfbridge.Tensor) (func(b []byte, i int64) []byte, error) {
	switch t.DataType() {
	case tfbridge.Float:
		return each(t, func(b []byte, v float32) []byte { return appendFloat(b, float64(v), 32) })
	case tfbridge.Double:
		return each(t, func(b []byte, v float64) []byte { return appendFloat(b, v, 64) })
	case tfbridge.Half, tfbridge.Bfloat16:
		return each(t, func(b []byte, v uint16) []byte { return appendFloat(b, halfFloat(t.DataType(), v), 32) })
	case tfbridge.Int8:
		return each(t, appendInt[int8])
	case tfbridge.Int16:
		return each(t, appendInt[int16])
	case tfbridge.Int32:
		return each(t, appendInt[int32])
	case tfbridge.Int64:
		return each(t, appendInt[int64])
	case tfbridge.Uint8:
		return each(t, appendUint[uint8])
	case tfbridge.Uint16:
		return each(t, appendUint[uint16])
	case tfbridge.Uint32:
		return each(t, appendUint[uint32])
	case tfbridge.Uint64:
		return each(t, appendUint[uint64])
	case tfbridge.Bool:
		return each(t, strconv.AppendBool)
	case tfbridge.String:
		texts, err := t.Strings()
		named := strings.HasSuffix(name, "_bytes")
		return func(b []byte, i int64) []byte {
			if named || !utf8.ValidString(texts[i]) {
				return appendBytes(b, texts[i])
			}
			return appendString(b, texts[i])
		}, err
	}
	return nil, millrace.Errorf(millrace.ErrModel, "values of type %v cannot be written as JSON", t.DataType())
}

// each returns a function that appends an element of a tensor with the given function.
func each[T any](t *tfbridge.Tensor, append func([]byte, T) []byte) (func([]byte, int64) []byte, error) {
	view, err := tfbridge.View[T](t)
	return func(b []byte, i int64) []byte { return append(b, view[i]) }, err
}

func appendInt[T int8 | int16 | int32 | int64](b []byte, v T) []byte {
	return strconv.AppendInt(b, int64(v), 10)
}

func appendUint[T uint8 | uint16 | uint32 | uint64](b []byte, v T) []byte {
	return strconv.AppendUint(b, uint64(v), 10)
}

// appendFloat appends a number in TensorFlow Serving's form: recognizable as a
// floating-point number. A number that is not finite, which JSON does not have, is a
// word.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	}
	start := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, bits)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}

// appendBytes appends bytes as {"b64": "..."}.
func appendBytes(b []byte, raw string) []byte {
	b = append(b, `{"b64":"`...)
	b = base64.StdEncoding.AppendEncode(b, []byte(raw))
	return append(b, `"}`...)
}

// appendString appends a string in quotes.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s) // it fails for no string
			if err == nil {
				return append(b, quoted...)
			}
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
