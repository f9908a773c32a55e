package openinference

import (
	"maps"
	"slices"

	"millrace"
	"millrace/tfbridge"
)

// datatypes are the protocol's names of data types.
var datatypes = map[string]tfbridge.DataType{
	"BOOL": tfbridge.Bool, "UINT8": tfbridge.Uint8, "UINT16": tfbridge.Uint16, "UINT32": tfbridge.Uint32, "UINT64": tfbridge.Uint64,
	"INT8": tfbridge.Int8, "INT16": tfbridge.Int16, "INT32": tfbridge.Int32, "INT64": tfbridge.Int64,
	"FP16": tfbridge.Half, "BF16": tfbridge.Bfloat16, "FP32": tfbridge.Float, "FP64": tfbridge.Double, "BYTES": tfbridge.String,
}

// DataType returns the data type of a name of the protocol.
func DataType(name string) (tfbridge.DataType, error) {
	dt, ok := datatypes[name]
	if !ok {
		return 0, millrace.Errorf(millrace.ErrModel, "datatype %s is not known; there are %q", millrace.Quote(name), slices.Sorted(maps.Keys(datatypes)))
	}
	return dt, nil
}

// Name returns the protocol's name of a data type, "" if it has none.
func Name(dt tfbridge.DataType) string {
	for name, t := range datatypes {
		if t == dt {
			return name
		}
	}
	return ""
}

// TensorInfo describes an input or output of a signature, as both interfaces do.
type TensorInfo struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"` // -1: any. A shape of unknown rank is [-1].
}

// Describe returns the inputs or outputs of a signature, by name. A tensor that the protocol
// cannot name has the datatype of TensorFlow.
func Describe(infos map[string]tfbridge.TensorInfo) []TensorInfo {
	all := []TensorInfo{}
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		info := infos[name]
		t := TensorInfo{Name: name, Datatype: Name(info.DType), Shape: info.Shape.Dims()}
		if t.Datatype == "" {
			t.Datatype = info.DType.String()
		}
		switch {
		case info.Shape.NumDimensions() < 0:
			t.Shape = []int64{-1}
		case t.Shape == nil:
			t.Shape = []int64{}
		}
		all = append(all, t)
	}
	return all
}
