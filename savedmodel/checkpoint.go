package savedmodel

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Checkpoint is what a checkpoint in TensorFlow's format holds.
type Checkpoint struct {
	Prefix    string     // of its files: PREFIX.index, PREFIX.data-00000-of-00001
	Variables []Variable // sorted by name
	Objects   bool       // it has the graph of Python's objects, under [ObjectGraphKey]
	Bytes     int64      // of all tensors

	// SHA256 is the digest of PREFIX.index, in hexadecimal. The index holds the
	// checksum of every tensor, so the digest stands for the values too.
	SHA256 string
}

// ReadCheckpoint reads the index of the checkpoint whose files begin with
// prefix, and compares every tensor in the data files with its checksum. The
// checkpoint may be Python's (tf.train.Checkpoint, tf.keras's weights in this
// format) or Millrace's. It needs no TensorFlow. Errors are of class ErrModel;
// errors.Is also finds ErrTruncated, ErrCorrupt or ErrIO where they apply.
func ReadCheckpoint(prefix string) (*Checkpoint, error) {
	in, err := openFolder(filepath.Dir(prefix))
	if err != nil {
		return nil, err
	}
	defer in.close()
	base := filepath.Base(prefix)
	data, err := in.open(base + ".index").readWhole(MaxIndexBytes)
	if err != nil {
		return nil, err
	}
	b, err := readBundle(prefix+".index", data)
	if err != nil {
		return nil, err
	}
	b.index, b.prefix = data, base
	if err := b.checkShards(in, true); err != nil {
		return nil, err
	}
	c := &Checkpoint{Prefix: prefix, Variables: b.variables(), SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
	for _, e := range b.entries {
		c.Objects = c.Objects || e.Name == ObjectGraphKey
		c.Bytes += e.Bytes
	}
	return c, nil
}

// Checkpoint returns the prefix of the model's own checkpoint, which has the
// values of its variables; ok is false for a model without any.
func (m *Model) Checkpoint() (prefix string, ok bool) {
	if m.bundle == nil {
		return "", false
	}
	return filepath.Join(m.Dir, m.bundle.prefix), true
}

// VariableObject is what Python knew of a variable.
type VariableObject struct {
	Name      string // as in Python, without ":0"
	Trainable bool
}

// VariableObjects returns the variables among Python's objects, by their names in
// checkpoints. Models of TensorFlow 1 have none.
//
// A checkpoint names a variable by the path through the objects that hold it, from
// the root: "hidden/kernel/.ATTRIBUTES/VARIABLE_VALUE". If there are several, the
// path is the one that a breadth-first search finds first.
func (m *Model) VariableObjects() map[string]VariableObject {
	var nodes [][]byte
	for f := range fieldsOf(m.objects) {
		if f.num == objectNodes {
			nodes = append(nodes, f.bytes)
		}
	}
	found := map[string]VariableObject{}
	paths := map[uint64]string{0: ""}
	for queue := []uint64{0}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at >= uint64(len(nodes)) {
			continue
		}
		for f := range fieldsOf(nodes[at]) {
			switch f.num {
			case objectChild:
				child, name := objectReference(f.bytes)
				if _, seen := paths[child]; !seen {
					paths[child] = paths[at] + name + "/"
					queue = append(queue, child)
				}
			case objectVariable:
				found[paths[at]+".ATTRIBUTES/VARIABLE_VALUE"] = variableObject(f.bytes)
			}
		}
	}
	return found
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
	for f := range fieldsOf(b) {
		switch f.num {
		case referenceNode:
			node = f.number
		case referenceName:
			name = strings.NewReplacer(".", "..", "/", ".S").Replace(string(f.bytes))
		}
	}
	return node, name
}

// variableObject reads a SavedVariable.
func variableObject(b []byte) VariableObject {
	var v VariableObject
	for f := range fieldsOf(b) {
		switch f.num {
		case savedTrainable:
			v.Trainable = f.number != 0
		case savedName:
			v.Name = strings.TrimSuffix(string(f.bytes), ":0")
		}
	}
	return v
}

// Objects reports whether the model's own checkpoint holds the graph of
// Python's objects.
func (m *Model) Objects() bool {
	return m.bundle != nil && slices.ContainsFunc(m.bundle.entries, func(e bundleEntry) bool { return e.Name == ObjectGraphKey })
}
