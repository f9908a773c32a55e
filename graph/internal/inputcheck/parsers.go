package inputcheck

import (
	"slices"

	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/tfrecord/example"
)

// parser describes a type of operation that parses serialized records with TensorFlow's
// fast parsers. ParseSingleSequenceExample is not among them: it parses with protobuf,
// which survives any bytes.
type parser struct {
	sequence bool // the records are SequenceExamples
	dataset  bool // input 0 is a dataset of vectors of records instead of the records

	// The keys in the order of the groups: inputs from number keys on, or the
	// attributes keyAttrs. They are unused for SequenceExamples.
	keys     int
	keyAttrs []string

	groups []group
}

// group is a group of features that a parser requests.
type group struct {
	types  string // the attribute with their data types
	shapes string // the attribute with their shapes; "": any number of values
	sparse bool   // values are returned with indices
}

var (
	exampleGroups  = []group{{types: "sparse_types", sparse: true}, {types: "Tdense", shapes: "dense_shapes"}, {types: "ragged_value_types"}}
	sequenceGroups = []group{
		{types: "context_sparse_types", sparse: true}, {types: "Tcontext_dense", shapes: "context_dense_shapes"}, {types: "context_ragged_value_types"},
		{types: "feature_list_sparse_types", sparse: true}, {types: "feature_list_dense_types", shapes: "feature_list_dense_shapes"}, {types: "feature_list_ragged_value_types"},
	}
	keyAttrs = []string{"sparse_keys", "dense_keys", "ragged_keys"}
)

// parsers are the operations by type.
var parsers = map[string]parser{
	"ParseExample":                    {keys: 2, groups: exampleGroups},
	"ParseExampleV2":                  {keys: 2, groups: exampleGroups},
	"ParseSingleExample":              {keyAttrs: keyAttrs, groups: exampleGroups},
	"ParseSequenceExample":            {sequence: true, groups: sequenceGroups},
	"ParseSequenceExampleV2":          {sequence: true, groups: sequenceGroups},
	"ParseExampleDataset":             {dataset: true, keyAttrs: keyAttrs, groups: exampleGroups},
	"ParseExampleDatasetV2":           {dataset: true, keyAttrs: keyAttrs, groups: exampleGroups},
	"ExperimentalParseExampleDataset": {dataset: true, keyAttrs: keyAttrs, groups: exampleGroups},
}

// everything is the request of a parser whose features are unknown, because the caller
// of its function sets them.
func (p parser) everything() example.Request {
	return example.Request{Sequence: p.sequence, Whole: true}
}

// request returns the features that a node requests.
func (p parser) request(n *tfproto.NodeDef) example.Request {
	r := example.Request{Sequence: p.sequence}
	for _, g := range p.groups {
		types, known := list(n, g.types)
		shapes, alsoKnown := list(n, g.shapes)
		if !known || !alsoKnown || g.shapes != "" && len(shapes.GetShape()) != len(types.GetType()) {
			return p.everything()
		}
		for i, dt := range types.GetType() {
			f := example.Requested{Kind: kindOf(dt), Floats: example.AnyNumber}
			if g.shapes != "" {
				f.Floats = elements(shapes.GetShape()[i])
			}
			r.Whole = r.Whole || p.sequence && g.sparse && f.Kind == example.Bytes
			r.Features = append(r.Features, f)
		}
	}
	return r
}

// list returns an attribute of a node, empty if it has none with that name. It reports
// false for one that the caller of a function sets.
func list(n *tfproto.NodeDef, name string) (*tfproto.AttrValue_ListValue, bool) {
	attr := n.GetAttr()[name]
	return attr.GetList(), attr.GetPlaceholder() == ""
}

// kindOf returns the list of an Example that holds the values of a data type.
func kindOf(dt tfproto.DataType) example.Kind {
	switch dt {
	case tfproto.DataType_DT_STRING:
		return example.Bytes
	case tfproto.DataType_DT_FLOAT:
		return example.Float
	}
	return example.Int64
}

// elements returns how many values a dense feature of a shape has.
func elements(shape *tfproto.TensorShapeProto) int64 {
	n := int64(1)
	for _, d := range shape.GetDim() {
		if d.GetSize() < 0 {
			return example.AnyNumber
		}
		n *= d.GetSize()
	}
	if shape.GetUnknownRank() {
		return example.AnyNumber
	}
	return n
}

// rowBytes returns the memory that the dense features with a shape take for one record.
func (p parser) rowBytes(n *tfproto.NodeDef) int64 {
	var sum int64
	for _, g := range p.groups {
		types, _ := list(n, g.types)
		shapes, _ := list(n, g.shapes)
		if g.shapes == "" || len(types.GetType()) != len(shapes.GetShape()) {
			continue
		}
		for i, dt := range types.GetType() {
			dims := make([]int64, 0, dtype.MaxRank)
			for _, d := range shapes.GetShape()[i].GetDim() {
				dims = append(dims, d.GetSize())
			}
			if _, bytes, err := dtype.ByteSize(dtype.DataType(dt), dims); err == nil && !shapes.GetShape()[i].GetUnknownRank() {
				sum += bytes
			}
		}
	}
	return sum
}

// keyInputs returns the inputs of a node that hold the keys.
func (p parser) keyInputs(n *tfproto.NodeDef) []string {
	if p.sequence || p.keys == 0 {
		return nil
	}
	count := len(exampleGroups)
	if n.GetOp() == "ParseExample" { // has an input for each key
		count = int(n.GetAttr()["Nsparse"].GetI() + n.GetAttr()["Ndense"].GetI())
	}
	end := min(p.keys+count, len(n.GetInput()))
	return slices.Clone(n.GetInput()[min(p.keys, end):end])
}

// keyValues returns the keys that the attributes of a node hold.
func (p parser) keyValues(n *tfproto.NodeDef) [][]byte {
	var keys [][]byte
	for _, name := range p.keyAttrs {
		keys = append(keys, n.GetAttr()[name].GetList().GetS()...)
	}
	return keys
}
