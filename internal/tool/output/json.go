package output

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/terminal"
)

// AppendBatch appends one batch as a JSON object on one line, in the form of `millrace
// dump`: {"x": {"dtype": "int32", "shape": [2], "values": [1, 2]}}. Values are flat and
// exact: 64-bit integers keep every digit, floats keep their exact value in their
// dtype, strings are base64 unless they are text, complex numbers [real, imaginary].
func AppendBatch(b []byte, batch []Column) ([]byte, error) {
	b = append(b, '{')
	for i := range batch {
		c := &batch[i]
		if err := c.valid(); err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendText(b, c.Name)
		b = append(b, `: {"dtype": "`...)
		b = append(b, c.DType.String()...)
		b = append(b, `", "shape": [`...)
		for i, d := range c.Shape {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendInt(b, d, 10)
		}
		b = append(b, `], "values": [`...)
		b = c.appendFlat(b)
		b = append(b, "]}"...)
	}
	return append(b, "}\n"...), nil
}

// appendFlat appends all elements, separated by commas.
func (c *Column) appendFlat(b []byte) []byte {
	if c.DType == dtype.String {
		for i, s := range c.Strings {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = c.appendString(b, s)
		}
		return b
	}
	size := c.DType.Size()
	for at := 0; at < len(c.Data); at += size {
		if at > 0 {
			b = append(b, ", "...)
		}
		b = appendNumber(b, c.Data[at:], c.DType)
	}
	return b
}

// appendRow appends row i as a value or nested arrays of values.
func (c *Column) appendRow(b []byte, i int) []byte {
	if c.DType == dtype.String {
		return c.appendStrings(b, c.rowStrings(i), c.Shape[1:])
	}
	return appendNested(b, c.row(i), c.Shape[1:], c.DType)
}

// appendNested appends numbers of a shape as nested arrays.
func appendNested(b, data []byte, shape []int64, d dtype.DataType) []byte {
	if len(shape) == 0 {
		return appendNumber(b, data, d)
	}
	b = append(b, '[')
	size := int(elements(shape[1:])) * d.Size()
	for i := range int(shape[0]) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNested(b, data[i*size:], shape[1:], d)
	}
	return append(b, ']')
}

// appendStrings appends strings of a shape as nested arrays.
func (c *Column) appendStrings(b []byte, values []string, shape []int64) []byte {
	if len(shape) == 0 {
		return c.appendString(b, values[0])
	}
	b = append(b, '[')
	size := int(elements(shape[1:]))
	for i := range int(shape[0]) {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.appendStrings(b, values[i*size:], shape[1:])
	}
	return append(b, ']')
}

// appendString appends a JSON string with s, or with its base64 form: a tensor's
// strings are bytes and need not be UTF-8.
func (c *Column) appendString(b []byte, s string) []byte {
	if c.Text {
		return appendText(b, s)
	}
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, []byte(s))
	return append(b, '"')
}

// appendText appends a JSON string with a text, such as a tensor's name. The text may
// come from an untrusted model or data, and may be shown on a terminal.
func appendText(b []byte, text string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil { // a string always encodes
		return strconv.AppendQuote(b, text)
	}
	return terminal.AppendJSON(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

// flushAt is the number of bytes of NDJSON to collect before writing them.
const flushAt = 256 << 10

// ndjson writes a JSON object for each row, one per line, with keys in column order.
type ndjson struct {
	w     *sink
	names [][]byte // `{"name":` of the first column, `,"name":` of the others
	buf   []byte
}

func newNDJSON(w *sink) encoder { return &ndjson{w: w} }

func (n *ndjson) start(cols []dtype.TensorSpec) error {
	for i, c := range cols {
		open := []byte{','}
		if i == 0 {
			open[0] = '{'
		}
		n.names = append(n.names, append(appendText(open, c.Name), ':'))
	}
	return nil
}

func (n *ndjson) write(batch []Column, rows int) error {
	for row := range rows {
		for i := range batch {
			n.buf = append(n.buf, n.names[i]...)
			n.buf = batch[i].appendRow(n.buf, row)
		}
		n.buf = append(n.buf, "}\n"...)
		if len(n.buf) >= flushAt {
			if err := n.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *ndjson) flush() error {
	_, err := n.w.Write(n.buf)
	n.buf = n.buf[:0]
	return err
}

func (n *ndjson) finish() error { return n.flush() }

func (n *ndjson) discard() {}

// noColumns is the failure of writing a batch without tensors.
func noColumns() error {
	return millrace.Errorf(millrace.ErrModel, "there is no tensor to write")
}
