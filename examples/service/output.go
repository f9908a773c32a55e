package main

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"unicode/utf8"

	"millrace/tfbridge"
)

// byColumn returns the outputs for JSON: by name, or the values alone if there
// is only one output.
func byColumn(outputs map[string]*tfbridge.Tensor) (any, error) {
	columns := map[string]any{}
	for name, t := range outputs {
		columns[name] = plain(reflect.ValueOf(t.Value()))
	}
	if len(columns) == 1 {
		for _, column := range columns {
			return column, nil
		}
	}
	return columns, nil
}

// byRow returns the outputs as a list with an entry for each row.
func byRow(outputs map[string]*tfbridge.Tensor) (any, error) {
	rows := int64(-1)
	for name, t := range outputs {
		shape := t.Shape()
		if len(shape) == 0 || rows >= 0 && shape[0] != rows {
			return nil, badRequest{fmt.Errorf(`output %q of shape %v has no row for each instance; ask by "inputs"`, name, shape)}
		}
		rows = shape[0]
	}
	list := make([]any, rows)
	for name, t := range outputs {
		column := reflect.ValueOf(t.Value())
		for i := range list {
			value := plain(column.Index(i))
			if len(outputs) == 1 {
				list[i] = value
				continue
			}
			if list[i] == nil {
				list[i] = map[string]any{}
			}
			list[i].(map[string]any)[name] = value
		}
	}
	return list, nil
}

// plain returns a tensor's value for JSON. Values that JSON cannot express
// become text: bytes that are not UTF-8 become {"b64": "..."}, and numbers that
// are not finite become their names.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case reflect.String:
		if s := v.String(); !utf8.ValidString(s) {
			return map[string]string{"b64": base64.StdEncoding.EncodeToString([]byte(s))}
		}
	case reflect.Float32, reflect.Float64:
		if text, ok := special(v.Float()); ok {
			return text
		}
	case reflect.Uint16:
		switch h := v.Interface().(type) {
		case tfbridge.Float16:
			return plain(reflect.ValueOf(h.Float32()))
		case tfbridge.BFloat16:
			return plain(reflect.ValueOf(h.Float32()))
		}
	case reflect.Complex64, reflect.Complex128:
		return []any{plain(reflect.ValueOf(real(v.Complex()))), plain(reflect.ValueOf(imag(v.Complex())))}
	}
	return v.Interface()
}
