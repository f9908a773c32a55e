package savedmodel

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"millrace/internal/base/wire"
	"millrace/remote"
	"millrace/savedmodel/bundle"
	"millrace/savedmodel/modelfile"
)

// Checkpoint describes a checkpoint in TensorFlow's format.
type Checkpoint struct {
	Prefix    string            // prefix of its files: PREFIX.index, PREFIX.data-00000-of-00001
	Variables []bundle.Variable // sorted by name
	Objects   bool              // it has the graph of Python's objects, under [ObjectGraphKey]
	Bytes     int64             // bytes of all tensors

	// SHA256 is the digest of PREFIX.index, in hexadecimal. The index holds the
	// checksum of every tensor, so the digest also covers the values.
	SHA256 string

	fetched *fetched // the copy of a checkpoint in a store, which Prefix is of; nil for others
}

// Source returns the prefix or the URL that [ReadCheckpoint] got. Errors name it.
func (c *Checkpoint) Source() string {
	if c.fetched != nil {
		return c.fetched.url + "/" + filepath.Base(c.Prefix)
	}
	return c.Prefix
}

// Close removes the copy of a checkpoint from a URL. It does nothing for others. Without Close the
// copy stays until the collector finds that the checkpoint is not used. Close may be called again.
func (c *Checkpoint) Close() error {
	if c == nil {
		return nil
	}
	return c.fetched.close()
}

// ReadCheckpoint reads the index of the checkpoint whose files begin with
// prefix, and compares every tensor in the data files with its checksum. The
// checkpoint may be Python's (tf.train.Checkpoint, tf.keras's weights in this
// format) or Millrace's. It needs no TensorFlow. Errors are of class ErrModel;
// errors.Is also finds ErrTruncated, ErrCorrupt or ErrIO where they apply.
//
// The prefix may be a URL of a store of package remote. Then ReadCheckpoint copies the files to a
// private folder, which [Checkpoint.Close] removes.
func ReadCheckpoint(prefix string) (*Checkpoint, error) {
	if remote.IsURL(prefix) {
		return readCheckpointURL(prefix)
	}
	in, err := modelfile.Open(filepath.Dir(prefix))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	base := filepath.Base(prefix)
	data, err := in.Open(base + ".index").ReadWhole(bundle.MaxIndexBytes)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Read(prefix+".index", data)
	if err != nil {
		return nil, err
	}
	b.Data, b.Prefix = data, base
	if err := b.CheckShards(in, true); err != nil {
		return nil, err
	}
	c := &Checkpoint{Prefix: prefix, Variables: b.Variables(), SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
	for _, e := range b.Entries {
		c.Objects = c.Objects || e.Name == bundle.ObjectGraphKey
		c.Bytes += e.Bytes
	}
	return c, nil
}

// Checkpoint returns the prefix of the model's own checkpoint, which has the values of
// its variables; ok is false for a model without variables.
func (m *Model) Checkpoint() (prefix string, ok bool) {
	if m.bundle == nil {
		return "", false
	}
	return filepath.Join(m.Dir, m.bundle.Prefix), true
}

// VariableObject is Python's description of a variable.
type VariableObject struct {
	Name      string // name in Python, without ":0"
	Trainable bool   // whether it was trainable when the model was exported
}

// VariableObjects returns the variables among Python's objects, by their names in
// checkpoints. Models of TensorFlow 1 have none.
//
// A checkpoint names a variable by the path through the objects that hold it, from
// the root: "hidden/kernel/.ATTRIBUTES/VARIABLE_VALUE". If there are several, the
// path is the one that a breadth-first search finds first.
//
// Keras freezes a layer after it has made the variables, which stay trainable to
// TensorFlow. Its exports contain two lists, trainable_variables and
// non_trainable_variables, of the state at the export.
func (m *Model) VariableObjects() map[string]VariableObject {
	var nodes [][]byte
	for f := range wire.Fields(m.objects) {
		if f.Num == objectNodes {
			nodes = append(nodes, f.Bytes)
		}
	}
	found := map[string]VariableObject{}
	frozen := frozenVariables(nodes)
	paths := map[uint64]string{0: ""}
	for queue := []uint64{0}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at >= uint64(len(nodes)) {
			continue
		}
		for f := range wire.Fields(nodes[at]) {
			switch f.Num {
			case objectChild:
				child, name := objectReference(f.Bytes)
				if _, seen := paths[child]; !seen {
					paths[child] = paths[at] + name + "/"
					queue = append(queue, child)
				}
			case objectVariable:
				v := variableObject(f.Bytes)
				v.Trainable = v.Trainable && !frozen[at]
				found[paths[at]+".ATTRIBUTES/VARIABLE_VALUE"] = v
			}
		}
	}
	return found
}

// frozenVariables returns the objects that the root's list non_trainable_variables
// holds and its list trainable_variables does not.
func frozenVariables(nodes [][]byte) map[uint64]bool {
	list := func(name string) map[uint64]bool {
		held := map[uint64]bool{}
		if len(nodes) == 0 {
			return held
		}
		for f := range wire.Fields(nodes[0]) {
			child, called := objectReference(f.Bytes)
			if f.Num != objectChild || called != name || child >= uint64(len(nodes)) {
				continue
			}
			for g := range wire.Fields(nodes[child]) {
				if g.Num == objectChild {
					element, _ := objectReference(g.Bytes)
					held[element] = true
				}
			}
		}
		return held
	}
	frozen := list("non_trainable_variables")
	for trained := range list("trainable_variables") {
		delete(frozen, trained)
	}
	return frozen
}

// Fields of SavedObjectGraph, SavedObject, ObjectReference and SavedVariable.
const (
	objectNodes                  = 1
	objectChild, objectVariable  = 1, 7
	referenceNode, referenceName = 1, 2
	savedTrainable, savedName    = 3, 6
)

// objectReference returns the number of an object and its name, escaped as in
// checkpoints.
func objectReference(b []byte) (node uint64, name string) {
	for f := range wire.Fields(b) {
		switch f.Num {
		case referenceNode:
			node = f.Number
		case referenceName:
			name = strings.NewReplacer(".", "..", "/", ".S").Replace(string(f.Bytes))
		}
	}
	return node, name
}

// variableObject reads a SavedVariable.
func variableObject(b []byte) VariableObject {
	var v VariableObject
	for f := range wire.Fields(b) {
		switch f.Num {
		case savedTrainable:
			v.Trainable = f.Number != 0
		case savedName:
			v.Name = strings.TrimSuffix(string(f.Bytes), ":0")
		}
	}
	return v
}

// Objects reports whether the model's own checkpoint contains the graph of Python's
// objects.
func (m *Model) Objects() bool {
	return m.bundle != nil && slices.ContainsFunc(m.bundle.Entries, func(e bundle.Entry) bool { return e.Name == bundle.ObjectGraphKey })
}
