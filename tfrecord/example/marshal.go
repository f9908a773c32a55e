package example

import (
	"encoding/binary"
	"math"
)

// Named is a feature with its name.
type Named struct {
	Name    string
	Feature Feature
}

// NamedList is a feature list with its name.
type NamedList struct {
	Name     string
	Features []Feature
}

// Marshal returns the bytes of an Example. Lists of numbers are packed, and the
// features are in the order given, as protobuf's writers do it except that
// theirs may be in any order.
func Marshal(features []Named) []byte {
	return appendFeatures(nil, tagBytes1, features)
}

// MarshalSequence returns the bytes of a SequenceExample.
func MarshalSequence(context []Named, lists []NamedList) []byte {
	var b []byte
	if len(context) > 0 {
		b = appendFeatures(b, tagBytes1, context)
	}
	if len(lists) == 0 {
		return b
	}
	var all []byte
	for _, l := range lists {
		var list []byte
		for _, f := range l.Features {
			list = appendField(list, tagBytes1, appendFeature(nil, f))
		}
		all = appendEntry(all, l.Name, list)
	}
	return appendField(b, tagBytes2, all)
}

// appendFeatures appends a field with a map of features.
func appendFeatures(b []byte, tag byte, features []Named) []byte {
	var all []byte
	for _, f := range features {
		all = appendEntry(all, f.Name, appendFeature(nil, f.Feature))
	}
	return appendField(b, tag, all)
}

// appendEntry appends an entry of a map.
func appendEntry(b []byte, name string, value []byte) []byte {
	e := appendField(nil, tagBytes1, []byte(name))
	return appendField(b, tagBytes1, appendField(e, tagBytes2, value))
}

// appendField appends a field of bytes.
func appendField(b []byte, tag byte, content []byte) []byte {
	b = append(b, tag)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// appendFeature appends the content of a Feature.
func appendFeature(b []byte, f Feature) []byte {
	var list []byte
	switch f.Kind {
	case Bytes:
		for _, v := range f.Bytes {
			list = appendField(list, tagBytes1, v)
		}
		return appendField(b, tagBytes1, list)
	case Float:
		if len(f.Floats) > 0 {
			packed := make([]byte, 0, 4*len(f.Floats))
			for _, v := range f.Floats {
				packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(v))
			}
			list = appendField(nil, tagBytes1, packed)
		}
		return appendField(b, tagBytes2, list)
	case Int64:
		if len(f.Ints) > 0 {
			var packed []byte
			for _, v := range f.Ints {
				packed = binary.AppendUvarint(packed, uint64(v))
			}
			list = appendField(nil, tagBytes1, packed)
		}
		return appendField(b, tagBytes3, list)
	}
	return b
}
