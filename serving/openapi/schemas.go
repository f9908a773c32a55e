package openapi

import (
	"maps"
	"math"
	"slices"

	"millrace/tfbridge"
)

// object is a JSON object.
type object = map[string]any

// byRow returns the schema of one row of tensors: its value if there is only one, an object
// otherwise. It reports false if one of them has no rows.
func byRow(infos map[string]tfbridge.TensorInfo) (object, bool) {
	if !haveRows(infos) {
		return nil, false
	}
	return named(infos, func(info tfbridge.TensorInfo) object { return tensor(info, 1) }), true
}

// rowByName returns the schema of one row of tensors as an object, also if there is only one. It reports
// false if one of them has no rows.
func rowByName(infos map[string]tfbridge.TensorInfo) (object, bool) {
	if !haveRows(infos) {
		return nil, false
	}
	return fields(infos, func(info tfbridge.TensorInfo) object { return tensor(info, 1) }), true
}

// haveRows reports whether all tensors have a first dimension.
func haveRows(infos map[string]tfbridge.TensorInfo) bool {
	for _, info := range infos {
		if info.Shape.NumDimensions() == 0 {
			return false
		}
	}
	return true
}

// byColumn returns the schema of whole tensors. A single tensor may be without its
// name.
func byColumn(infos map[string]tfbridge.TensorInfo) object {
	whole := func(info tfbridge.TensorInfo) object { return tensor(info, 0) }
	if len(infos) > 1 {
		return named(infos, whole)
	}
	return object{"anyOf": []any{named(infos, whole), fields(infos, whole)}}
}

// named returns the schema of tensors: the schema of a single one, or an object of
// several.
func named(infos map[string]tfbridge.TensorInfo, schema func(tfbridge.TensorInfo) object) object {
	if len(infos) == 1 {
		for _, info := range infos {
			return schema(info)
		}
	}
	return fields(infos, schema)
}

// fields returns the schema of an object of tensors.
func fields(infos map[string]tfbridge.TensorInfo, schema func(tfbridge.TensorInfo) object) object {
	properties, required := object{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		properties[name], required = schema(infos[name]), append(required, name)
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// tensor returns the schema of a tensor's dimensions from a given one on, as nested
// lists.
func tensor(info tfbridge.TensorInfo, from int) object {
	rank := info.Shape.NumDimensions()
	if rank < 0 {
		return object{"description": "Any shape of " + info.DType.String() + "."}
	}
	s := element(info.DType)
	for d := rank - 1; d >= from; d-- {
		s = object{"type": "array", "items": s}
		if n := info.Shape.Size(d); n >= 0 {
			s["minItems"], s["maxItems"] = n, n
		}
	}
	return s
}

// element returns the schema of an element.
func element(dt tfbridge.DataType) object {
	whole := func(least, most float64) object {
		return object{"type": "integer", "minimum": least, "maximum": most}
	}
	switch dt {
	case tfbridge.Float, tfbridge.Half, tfbridge.Bfloat16:
		return object{"type": "number", "format": "float"}
	case tfbridge.Double:
		return object{"type": "number", "format": "double"}
	case tfbridge.Bool:
		return object{"type": "boolean"}
	case tfbridge.String:
		return object{"anyOf": []any{object{"type": "string"}, holding("b64", object{"type": "string", "format": "byte"})}}
	case tfbridge.Int8:
		return whole(math.MinInt8, math.MaxInt8)
	case tfbridge.Int16:
		return whole(math.MinInt16, math.MaxInt16)
	case tfbridge.Int32:
		return object{"type": "integer", "format": "int32"}
	case tfbridge.Int64:
		return object{"type": "integer", "format": "int64"}
	case tfbridge.Uint8:
		return whole(0, math.MaxUint8)
	case tfbridge.Uint16:
		return whole(0, math.MaxUint16)
	case tfbridge.Uint32:
		return whole(0, math.MaxUint32)
	case tfbridge.Uint64:
		return object{"type": "integer", "minimum": 0}
	}
	return object{"description": "Elements of type " + dt.String() + "."}
}

// errorSchema returns the schema of an error.
func errorSchema() object { return holding("error", object{"type": "string"}) }

// list returns the schema of a list.
func list(items object) object { return object{"type": "array", "items": items} }

// metadataTensor returns the schema that inputs and outputs of the Open Inference Protocol share.
func metadataTensor(more object, required ...any) object {
	properties := object{
		"name":       object{"type": "string"},
		"datatype":   object{"type": "string", "enum": []any{"BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "BF16", "FP32", "FP64", "BYTES"}},
		"shape":      list(object{"type": "integer", "format": "int64", "minimum": 0}),
		"parameters": object{"type": "object"},
	}
	maps.Copy(properties, more)
	return object{"type": "object", "properties": properties, "required": append([]any{"name", "datatype", "shape"}, required...)}
}

// inferRequest returns the schema of a request of the Open Inference Protocol.
func inferRequest() object {
	return object{"type": "object", "required": []any{"inputs"}, "properties": object{
		"id":         object{"type": "string"},
		"parameters": object{"type": "object", "properties": object{"signature_name": object{"type": "string"}, "binary_data_output": object{"type": "boolean"}}},
		"inputs":     list(metadataTensor(object{"data": object{"type": "array", "items": object{}}})),
		"outputs":    list(holding("name", object{"type": "string"})),
	}}
}

// inferResponse returns the schema of an answer of the Open Inference Protocol.
func inferResponse() object {
	return object{"type": "object", "required": []any{"model_name", "outputs"}, "properties": object{
		"model_name": object{"type": "string"}, "model_version": object{"type": "string"}, "id": object{"type": "string"},
		"outputs": list(metadataTensor(object{"data": object{"type": "array", "items": object{}}})),
	}}
}

// holding returns the schema of an object with a value.
func holding(name string, value object) object {
	return object{"type": "object", "properties": object{name: value}, "required": []any{name}}
}
