package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"millrace/tfbridge"
)

// tensors returns the tensors of a request by the names of a signature's
// inputs. The caller closes them, also those that come with an error.
func (q *request) tensors(infos map[string]tfbridge.TensorInfo) (map[string]any, error) {
	columns, err := q.columns(infos)
	if err != nil {
		return nil, err
	}
	tensors := map[string]any{}
	for name, column := range columns {
		info, ok := infos[name]
		if !ok {
			return tensors, fmt.Errorf("the signature has no input %q; its inputs are %q", name, sortedNames(infos))
		}
		t, err := newTensor(info.DType, column)
		if err != nil {
			return tensors, fmt.Errorf("input %q: %w", name, err)
		}
		tensors[name] = t
	}
	return tensors, nil
}

// columns returns the request's values by input.
func (q *request) columns(infos map[string]tfbridge.TensorInfo) (map[string]any, error) {
	switch {
	case (q.Instances == nil) == (q.Inputs == nil):
		return nil, errors.New(`give either "instances", by row, or "inputs", by column`)
	case q.Inputs != nil:
		value, err := decode(q.Inputs)
		if columns, ok := value.(map[string]any); ok && !isBytes(columns) {
			return columns, err
		}
		return only(infos, value, err)
	}
	value, err := decode(q.Instances)
	if err != nil {
		return nil, err
	}
	rows, ok := value.([]any)
	if !ok || len(rows) == 0 {
		return nil, errors.New(`"instances" is a list of at least one row`)
	}
	if first, ok := rows[0].(map[string]any); !ok || isBytes(first) {
		return only(infos, rows, nil)
	}
	columns := map[string]any{}
	for i, row := range rows {
		fields, ok := row.(map[string]any)
		if !ok || i > 0 && len(fields) != len(columns) {
			return nil, fmt.Errorf("instance %d does not have the same inputs as the first", i)
		}
		for name, v := range fields {
			column, _ := columns[name].([]any)
			if len(column) != i {
				return nil, fmt.Errorf("instance %d has input %q, others have not", i, name)
			}
			columns[name] = append(column, v)
		}
	}
	return columns, nil
}

// only returns the values for the single input of a signature. With one input,
// a request may leave out its name.
func only(infos map[string]tfbridge.TensorInfo, value any, err error) (map[string]any, error) {
	if err == nil && len(infos) != 1 {
		err = fmt.Errorf("name the inputs: the signature has %q", sortedNames(infos))
	}
	columns := map[string]any{}
	for name := range infos {
		columns[name] = value
	}
	return columns, err
}

// decode reads JSON and keeps numbers as text.
func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return value, d.Decode(&value)
}

// isBytes reports whether an object holds bytes in base64: {"b64": "..."}.
func isBytes(v map[string]any) bool {
	_, ok := v["b64"].(string)
	return ok && len(v) == 1
}

// newTensor returns the tensor of nested lists.
func newTensor(dt tfbridge.DataType, value any) (*tfbridge.Tensor, error) {
	var shape []int64
	for v := value; ; {
		list, ok := v.([]any)
		if !ok {
			break
		}
		if shape = append(shape, int64(len(list))); len(list) == 0 {
			break
		}
		v = list[0]
	}
	var flat []any
	if err := flatten(value, shape, &flat); err != nil {
		return nil, err
	}
	switch dt {
	case tfbridge.Float:
		return numbers[float32](shape, flat)
	case tfbridge.Double:
		return numbers[float64](shape, flat)
	case tfbridge.Int8:
		return numbers[int8](shape, flat)
	case tfbridge.Int16:
		return numbers[int16](shape, flat)
	case tfbridge.Int32:
		return numbers[int32](shape, flat)
	case tfbridge.Int64:
		return numbers[int64](shape, flat)
	case tfbridge.Uint8:
		return numbers[uint8](shape, flat)
	case tfbridge.Uint16:
		return numbers[uint16](shape, flat)
	case tfbridge.Uint32:
		return numbers[uint32](shape, flat)
	case tfbridge.Uint64:
		return numbers[uint64](shape, flat)
	case tfbridge.Bool:
		return bools(shape, flat)
	case tfbridge.String:
		return texts(shape, flat)
	}
	return nil, fmt.Errorf("values of %v cannot be given in JSON", dt)
}

// flatten appends the values in nested lists. All lists at one depth must have
// the same length.
func flatten(value any, shape []int64, flat *[]any) error {
	list, ok := value.([]any)
	switch {
	case len(shape) == 0 && ok:
		return errors.New("lists nest deeper in some places than in others")
	case len(shape) == 0:
		*flat = append(*flat, value)
		return nil
	case !ok || int64(len(list)) != shape[0]:
		return fmt.Errorf("lists differ in length: the first of its kind has %d elements", shape[0])
	}
	for _, v := range list {
		if err := flatten(v, shape[1:], flat); err != nil {
			return err
		}
	}
	return nil
}

// number is the type of a tensor's element that a JSON number can become.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// numbers returns a tensor of numbers. A number out of the type's range is an
// error.
func numbers[T number](shape []int64, flat []any) (*tfbridge.Tensor, error) {
	values := make([]T, len(flat))
	for i, v := range flat {
		if err := set(reflect.ValueOf(&values[i]).Elem(), v); err != nil {
			return nil, err
		}
	}
	return tfbridge.NewTensorFromSlice(shape, values)
}

// set sets a number to the value of a JSON number.
func set(to reflect.Value, value any) error {
	text := fmt.Sprint(value)
	bits := to.Type().Bits()
	var err error
	switch _, isNumber := value.(json.Number); {
	case to.CanFloat() && (isNumber || text == "NaN" || strings.HasSuffix(text, "Infinity")):
		var f float64
		f, err = strconv.ParseFloat(text, bits)
		to.SetFloat(f)
	case to.CanInt() && isNumber:
		var n int64
		n, err = strconv.ParseInt(text, 10, bits)
		to.SetInt(n)
	case to.CanUint() && isNumber:
		var n uint64
		n, err = strconv.ParseUint(text, 10, bits)
		to.SetUint(n)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		return fmt.Errorf("%.40q is not a value of %v", text, to.Type())
	}
	return nil
}

// bools returns a tensor of bools.
func bools(shape []int64, flat []any) (*tfbridge.Tensor, error) {
	values := make([]bool, len(flat))
	for i, v := range flat {
		b, ok := v.(bool)
		if !ok {
			return nil, fmt.Errorf("%.40q is neither true nor false", fmt.Sprint(v))
		}
		values[i] = b
	}
	return tfbridge.NewTensorFromSlice(shape, values)
}

// texts returns a tensor of strings, or of bytes in base64.
func texts(shape []int64, flat []any) (*tfbridge.Tensor, error) {
	values := make([]string, len(flat))
	for i, v := range flat {
		switch v := v.(type) {
		case string:
			values[i] = v
		case map[string]any:
			if !isBytes(v) {
				return nil, errors.New(`a string is "..." or {"b64": "..."}`)
			}
			raw, err := base64.StdEncoding.DecodeString(v["b64"].(string))
			if err != nil {
				return nil, err
			}
			values[i] = string(raw)
		default:
			return nil, fmt.Errorf("%.40q is not a string", fmt.Sprint(v))
		}
	}
	return tfbridge.NewStringTensor(shape, values)
}

// special returns the name of a number that JSON cannot express.
func special(f float64) (string, bool) {
	switch {
	case math.IsNaN(f):
		return "NaN", true
	case math.IsInf(f, 1):
		return "Infinity", true
	case math.IsInf(f, -1):
		return "-Infinity", true
	}
	return "", false
}
