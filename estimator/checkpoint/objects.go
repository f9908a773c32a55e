package checkpoint

import (
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

// SaveCounter is the name of Python's count of the checkpoints that were saved,
// an int64.
const SaveCounter = "save_counter/.ATTRIBUTES/VARIABLE_VALUE"

// AddSaveCounter adds SaveCounter to a graph of Python's objects, a serialized
// TrackableObjectGraph. The graph in a SavedModel has no counter, but Python's
// tf.train.Checkpoint has one, and expects it when a checkpoint must have everything.
func AddSaveCounter(objects string) (string, error) {
	g := &tfproto.TrackableObjectGraph{}
	if err := proto.Unmarshal([]byte(objects), g); err != nil {
		return "", millrace.Errorf(millrace.ErrModel, "the graph of Python's objects: %w", err)
	}
	if len(g.Nodes) == 0 {
		return objects, nil
	}
	root := g.Nodes[0]
	for _, child := range root.Children {
		if child.GetLocalName() == "save_counter" {
			return objects, nil
		}
	}
	root.Children = append(root.Children, &tfproto.TrackableObjectGraph_TrackableObject_ObjectReference{
		NodeId: int32(len(g.Nodes)), LocalName: "save_counter",
	})
	g.Nodes = append(g.Nodes, &tfproto.TrackableObjectGraph_TrackableObject{
		Attributes: []*tfproto.TrackableObjectGraph_TrackableObject_SerializedTensor{
			{Name: "VARIABLE_VALUE", FullName: "save_counter", CheckpointKey: SaveCounter},
		},
	})
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(g)
	return string(text), err
}
