package native

import (
	"millrace/dtype"
	"millrace/graph"
	"millrace/tfbridge"
)

// Kind is how records store a feature that a native dataset decodes.
type Kind string

// The kinds of features.
const (
	Int   Kind = "int"   // an int64 list
	Float Kind = "float" // a float list
	Bytes Kind = "bytes" // a bytes list
	Raw   Kind = "raw"   // a bytes list that holds numbers
)

// Feature is a feature that a native dataset decodes. It is required unless
// Optional is set.
type Feature struct {
	Key       string
	Kind      Kind
	DType     tfbridge.DataType // type of raw numbers; the other kinds have one type
	Shape     []int64           // shape of one record, or of one element of a list; fully defined
	Strings   int64             // the number of byte strings that raw numbers are stored in; default 1
	BigEndian bool              // raw numbers have their most significant byte first
	List      bool              // any number of elements: a feature list of a SequenceExample, or values of an Example ([Sequence].Examples); the latter not for Raw
	Optional  bool              // a list of Examples that is empty where a record lacks it
	Finite    bool              // a record with a NaN or an infinite value goes to the Check; for Float or Raw floats, not for a List
}

// spec returns the feature's type and shape in batches of n.
func (f *Feature) spec(n int64) graph.Spec {
	p := graph.Spec{DType: f.DType, Shape: tfbridge.MakeShape(append([]int64{n}, f.Shape...)...)}
	switch f.Kind {
	case Int:
		p.DType = tfbridge.Int64
	case Float:
		p.DType = tfbridge.Float
	case Bytes:
		p.DType = tfbridge.String
	}
	return p
}

// stored returns how many values a record stores; for raw numbers, how many byte
// strings.
func (f *Feature) stored() int64 {
	if f.Kind == Raw {
		return max(f.Strings, 1)
	}
	n, _ := dtype.Elements(f.Shape) // decodeAttrs refuses shapes whose size overflows
	return n
}
