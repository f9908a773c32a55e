package judge

import (
	"millrace/dtype"
	"millrace/internal/bytecheck"
	"millrace/internal/tfproto"
	"millrace/tfbridge"
)

// dtypeAttrs are the attributes with the data type of what an operation makes of
// bytes, where a check asks for it.
var dtypeAttrs = map[string]string{
	"ParseTensor":           "out_type",
	"DeserializeSparse":     "dtype",
	"DeserializeManySparse": "dtype",
	"DecodeImage":           "dtype",
}

// takesBytes reports whether a node turns bytes into tensors and has a check.
// DeserializeSparse also takes variants, which are tensors already.
func takesBytes(n *tfproto.NodeDef) bool {
	serialized, set := n.GetAttr()["Tserialized"]
	return bytecheck.Checked(n.GetOp()) && (!set || serialized.GetType() != tfproto.DataType_DT_VARIANT)
}

// checkBytes puts a check before an operation that takes bytes.
func (j *judged) checkBytes(limit int64) *tfproto.NodeDef {
	n := j.node
	spec := tfbridge.JudgeSpec{Parser: n.GetName(), Bytes: &bytecheck.Spec{
		Op: n.GetOp(), DType: dtype.DataType(n.GetAttr()[dtypeAttrs[n.GetOp()]].GetType()), Limit: limit,
	}}
	check := &tfproto.NodeDef{
		Name: j.name(judgeName), Op: tfbridge.OpCheckBytes, Device: n.GetDevice(), Input: []string{n.GetInput()[0]},
		Attr: map[string]*tfproto.AttrValue{"judge": text(spec.Attr()), "N": integer(0)},
	}
	n.Input[0] = j.ref(check.GetName(), "judged")
	return check
}
