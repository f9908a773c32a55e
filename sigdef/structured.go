package sigdef

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/wire"
)

// TensorFlow 2 splits the composite inputs of a signature: tf.saved_model.save lists
// the components of a ragged tensor x as inputs x and x_1, without recording that they
// belong together. The object graph does record it. It keeps the arguments of every
// function that was saved as a StructuredValue, a tree whose leaves are TensorSpecs and
// TypeSpecs. Flattening the tree gives one component after the other, in the order of
// the function's inputs.

// Component is one tensor of a function's arguments.
type Component struct {
	Encoding Encoding // encoding of the argument that it belongs to
	Name     string   // name of the component: "row_splits"; "" for a plain tensor
	First    bool     // the first component of its argument
}

// Field numbers of SavedObjectGraph, SavedConcreteFunction, StructuredValue and the
// messages in them.
const (
	objectGraphFunction   = 2
	concreteInputs        = 3
	valueTensorSpec       = 33
	valueTypeSpec         = 34
	valueBoundedSpec      = 35
	valueList, valueTuple = 51, 52
	valueDict             = 53
	valueNamedTuple       = 54
	elementValue          = 1
	namedTupleValue       = 2
	specState             = 2
	specComponents        = 4
	valueInt              = 12
)

// InputComponents returns the components of the inputs of a function in a serialized
// SavedObjectGraph, in the order of the function's arguments. It is nil if the object
// graph does not contain them.
func InputComponents(objectGraph []byte, function string) []Component {
	var found []Component
	wire.Each(objectGraph, func(num protowire.Number, v []byte, _ uint64) bool {
		if num != objectGraphFunction {
			return true
		}
		name, concrete, ok := mapEntry(v)
		if !ok || name != function {
			return true
		}
		found, _ = flatten(nil, field(concrete, concreteInputs), 0)
		return false
	})
	return found
}

// flatten appends the components of a StructuredValue. It reports false for a
// value that is not understood.
func flatten(all []Component, value []byte, depth int) ([]Component, bool) {
	if depth > maxDepth {
		return nil, false
	}
	known := true
	ok := wire.Each(value, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case valueTensorSpec, valueBoundedSpec:
			all = append(all, Component{First: true})
		case valueTypeSpec:
			all, known = appendSpec(all, v)
		case valueList, valueTuple:
			all, known = flattenEach(all, fields(v, elementValue), depth)
		case valueDict:
			all, known = flattenEach(all, sortedValues(fields(v, elementValue)), depth)
		case valueNamedTuple:
			var values [][]byte
			for _, pair := range fields(v, namedTupleValue) {
				values = append(values, field(pair, entryValue))
			}
			all, known = flattenEach(all, values, depth)
		}
		return known
	})
	return all, ok
}

// flattenEach appends the components of several StructuredValues.
func flattenEach(all []Component, values [][]byte, depth int) ([]Component, bool) {
	for _, v := range values {
		var ok bool
		if all, ok = flatten(all, v, depth+1); !ok {
			return nil, false
		}
	}
	return all, true
}

// appendSpec appends the components of a TypeSpecProto. Releases before 2.8 do not
// write their number: a sparse tensor has 3 components, and a ragged one has
// ragged_rank + 1.
func appendSpec(all []Component, spec []byte) ([]Component, bool) {
	class, n := number(spec, specClass), int(number(spec, specComponents))
	switch {
	case n > 0:
	case class == sparseTensorSpec:
		n = 3
	case class == raggedTensorSpec:
		state := fields(field(field(spec, specState), valueTuple), elementValue)
		if len(state) > 2 {
			n = int(protowire.DecodeZigZag(number(state[2], valueInt))) + 1
		}
	}
	if n <= 0 || n > maxComponents {
		return nil, false
	}
	encoding, names := componentNames(class, n)
	if n == 1 && class == raggedTensorSpec {
		encoding, names = Dense, []string{""} // a tensor without ragged dimensions is plain
	}
	for i, name := range names {
		all = append(all, Component{Encoding: encoding, Name: name, First: i == 0})
	}
	return all, true
}

// maxComponents exceeds the number of components of any composite tensor.
const maxComponents = 1 << 10

// sortedValues returns the values of a map's entries in the order of their keys.
func sortedValues(entries [][]byte) [][]byte {
	type entry struct {
		key   string
		value []byte
	}
	var list []entry
	for _, e := range entries {
		key, value, _ := mapEntry(e)
		list = append(list, entry{key, value})
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	var values [][]byte
	for _, e := range list {
		values = append(values, e.value)
	}
	return values
}

// fields returns the occurrences of a field of a message.
func fields(message []byte, want protowire.Number) [][]byte {
	var found [][]byte
	wire.Each(message, func(num protowire.Number, v []byte, _ uint64) bool {
		if num == want {
			found = append(found, v)
		}
		return true
	})
	return found
}

// field returns a field of a message, nil if it is absent.
func field(message []byte, want protowire.Number) []byte {
	if all := fields(message, want); len(all) > 0 {
		return all[0]
	}
	return nil
}

// number returns a field of a message that is a varint, 0 if it is absent.
func number(message []byte, want protowire.Number) uint64 {
	var found uint64
	wire.Each(message, func(num protowire.Number, _ []byte, n uint64) bool {
		if num == want {
			found = n
		}
		return true
	})
	return found
}
