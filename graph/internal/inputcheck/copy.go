package inputcheck

import (
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/savedmodel/effect"
)

// writes reports whether an operation writes to the buffer of its first input, as
// InplaceUpdate does.
func writes(op string) bool {
	row, _ := effect.Of(op)
	return len(row.Writes) == 1 && row.Writes[0] == 0
}

// copyInput inserts a DeepCopy before the first input, so that the operation writes to a
// tensor that nothing else reads. TensorFlow keeps DeepCopy, because it is stateful.
func (j *checked) copyInput() *tfproto.NodeDef {
	n := j.node
	made := &tfproto.NodeDef{Name: j.name(copyName), Op: "DeepCopy", Device: n.GetDevice(), Input: []string{n.GetInput()[0]},
		Attr: map[string]*tfproto.AttrValue{"T": proto.CloneOf(n.GetAttr()["T"])}}
	n.Input[0] = j.ref(made.GetName(), "y")
	return made
}
