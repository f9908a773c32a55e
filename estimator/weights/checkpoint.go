package weights

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// checkpointSource reads a checkpoint of TensorFlow: a prefix of files, or a folder,
// whose newest checkpoint is used. If the checkpoint has a graph of objects, it gives
// Python's names of the variables.
func checkpointSource(path string) (*Source, error) {
	prefix, err := checkpoint.Resolve(path)
	if err != nil {
		return nil, err
	}
	c, err := checkpoint.LoadPrefix(prefix)
	if err != nil {
		return nil, err
	}
	s := &Source{Path: prefix, Format: "checkpoint", close: c.Close}
	called, err := pythonNames(c)
	if err != nil {
		return nil, err
	}
	var specs []dtype.TensorSpec
	for _, v := range c.Variables {
		if v.DType == dtype.String || v.Name == checkpoint.SaveCounter {
			continue
		}
		t := Tensor{Names: []string{v.Name}, DType: v.DType, Shape: v.Shape}
		if name := called[v.Name]; name != "" {
			t.Names = append(t.Names, name)
		}
		s.Tensors, specs = append(s.Tensors, t), append(specs, v.TensorSpec)
	}
	specs = c.Weights(specs)
	s.read = func(i int) (*tfbridge.Tensor, error) {
		read, err := checkpoint.ReadTensors(c.Prefix, specs[i:i+1])
		if err != nil {
			return nil, s.failure("%w", err)
		}
		return read[0], nil
	}
	return s, nil
}

// pythonNames returns the names that Python gave the variables of a checkpoint, by their
// names in it.
func pythonNames(c *checkpoint.Checkpoint) (map[string]string, error) {
	if !c.Objects {
		return nil, nil
	}
	spec := dtype.TensorSpec{Name: savedmodel.ObjectGraphKey, DType: dtype.String, Shape: dtype.ScalarShape()}
	read, err := checkpoint.ReadTensors(c.Prefix, []dtype.TensorSpec{spec})
	if err != nil {
		return nil, err
	}
	defer read[0].Close()
	text, err := read[0].StringAt(0)
	if err != nil {
		return nil, err
	}
	g := &tfproto.TrackableObjectGraph{}
	if proto.Unmarshal([]byte(text), g) != nil {
		return nil, nil // the names in the checkpoint are used
	}
	names := map[string]string{}
	for _, n := range g.Nodes {
		for _, a := range n.Attributes {
			if a.GetFullName() != "" {
				names[a.GetCheckpointKey()] = strings.TrimSuffix(a.GetFullName(), ":0")
			}
		}
	}
	return names, nil
}
