package spec

import "millrace/tfbridge"

// Kind says how a feature is stored in a record. Its values are those of the
// manifest's "deserialize_type".
type Kind string

// The kinds of feature.
const (
	Int    Kind = "int"    // an int64 list
	Float  Kind = "float"  // a float list
	String Kind = "string" // a bytes list, each element a value
	Raw    Kind = "raw"    // a bytes list, each element the bytes of a tensor
)

// Feature is a requested feature of the manifest.
type Feature struct {
	Name        string
	Kind        Kind
	DType       tfbridge.DataType
	Shape       []int64 // the shape in a record, or in an element if VarLen; without Len
	VarLen      bool    // any number of elements, a feature list or in an Example a list of values: the tensor is [T] + Shape
	Optional    bool    // a VarLen feature of Examples that is empty where a record lacks it
	Endian      string  // "little" or "big" for Raw, else ""
	Len         int64   // byte strings of a Raw feature; more than 1 gives [Len] + Shape; 1 if VarLen
	CheckedCast bool    // a cast that loses something is an error
	Finite      bool    // NaN and infinity make a bad record
	Index       int     // index in the manifest's "features"
}

// TensorShape returns the static shape of the feature's tensor for one
// record: Shape with the axis of Len, and -1 for the length of a VarLen feature.
func (f *Feature) TensorShape() []int64 {
	var lead []int64
	switch {
	case f.VarLen:
		lead = []int64{-1}
	case f.Len > 1:
		lead = []int64{f.Len}
	}
	return append(lead, f.Shape...)
}

// StoredType returns the dtype that a feature has in a record.
func (f *Feature) StoredType() tfbridge.DataType {
	switch f.Kind {
	case Int:
		return tfbridge.Int64
	case Float:
		return tfbridge.Float
	default:
		return tfbridge.String
	}
}

// StoredShape returns the shape of a feature's list in a record (of one
// element if VarLen), before raw bytes are decoded.
func (f *Feature) StoredShape() []int64 {
	switch {
	case f.Kind != Raw:
		return f.Shape
	case f.Len > 1 && !f.VarLen:
		return []int64{f.Len}
	default:
		return []int64{}
	}
}
