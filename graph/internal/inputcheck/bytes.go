package inputcheck

import (
	"math"

	"millrace/dtype"
	"millrace/internal/base/bytecheck"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// dtypeAttrs are the attributes with the data type that an operation decodes bytes to,
// if its check needs the type.
var dtypeAttrs = map[string]string{
	"ParseTensor":           "out_type",
	"DeserializeSparse":     "dtype",
	"DeserializeManySparse": "dtype",
	"DecodeImage":           "dtype",
	"DecodePng":             "dtype",
}

// takesBytes reports whether a node turns bytes into tensors and has a check.
// DeserializeSparse also takes variants, which are tensors already.
func takesBytes(n *tfproto.NodeDef) bool {
	serialized, set := n.GetAttr()["Tserialized"]
	return bytecheck.Checked(n.GetOp()) && (!set || serialized.GetType() != tfproto.DataType_DT_VARIANT)
}

// specOf returns the check of a node. An attribute that a function's caller sets counts
// as the value that makes the largest tensor.
func specOf(n *tfproto.NodeDef, limit int64) *bytecheck.Spec {
	attrs := n.GetAttr()
	s := &bytecheck.Spec{
		Op: n.GetOp(), Limit: limit,
		DType:       dtype.DataType(attrs[dtypeAttrs[n.GetOp()]].GetType()),
		Compression: string(attrs["compression_type"].GetS()),
		Channels:    intAttr(n, "channels", 0, 4),
		Ratio:       attrs["ratio"].GetI(),
	}
	switch n.GetOp() {
	case "DecodeImage", "DecodePng":
		if attrs["dtype"].GetPlaceholder() != "" {
			s.DType = dtype.Float
		}
		all := attrs["expand_animations"]
		s.First = all != nil && !all.GetB() && all.GetPlaceholder() == ""
	case "DecodeWav":
		s.Channels, s.Samples = intAttr(n, "desired_channels", -1, math.MaxInt64), intAttr(n, "desired_samples", -1, math.MaxInt64)
	}
	return s
}

// intAttr returns an attribute of a node: missing if it has none, unknown if the
// caller of a function sets it.
func intAttr(n *tfproto.NodeDef, name string, missing, unknown int64) int64 {
	switch a := n.GetAttr()[name]; {
	case a == nil:
		return missing
	case a.GetPlaceholder() != "":
		return unknown
	default:
		return a.GetI()
	}
}

// checkBytes inserts a check before an operation that decodes bytes.
func (j *checked) checkBytes(limit int64) *tfproto.NodeDef {
	n := j.node
	spec := tfbridge.CheckSpec{Parser: n.GetName(), Bytes: specOf(n, limit)}
	check := &tfproto.NodeDef{
		Name: j.name(checkName), Op: tfbridge.OpCheckBytes, Device: n.GetDevice(), Input: []string{n.GetInput()[0]},
		Attr: map[string]*tfproto.AttrValue{"check": text(spec.Attr()), "N": integer(0)},
	}
	n.Input[0] = j.ref(check.GetName(), "checked")
	return check
}
