package example

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

// Marshal returns the bytes of an Example. Lists of numbers are packed, as by
// protobuf's writers. The features are in the given order; protobuf's may be in any
// order.
func Marshal(features []Named) []byte { return AppendExample(nil, features) }

// AppendExample appends the bytes of an Example to b, as [Marshal] returns them.
func AppendExample(b []byte, features []Named) []byte {
	b, start := begin(b, tagBytes1)
	for i := range features {
		b = appendFeature(b, place{name: features[i].Name}, &features[i].Feature)
	}
	return end(b, start)
}

// MarshalSequence returns the bytes of a SequenceExample.
func MarshalSequence(context []Named, lists []NamedList) []byte {
	return AppendSequence(nil, context, lists)
}

// AppendSequence appends the bytes of a SequenceExample to b.
func AppendSequence(b []byte, context []Named, lists []NamedList) []byte {
	if len(context) > 0 {
		b = AppendExample(b, context)
	}
	if len(lists) == 0 {
		return b
	}
	b, all := begin(b, tagBytes2)
	for i := range lists {
		var list openList
		b, list = beginList(b, lists[i].Name)
		for k := range lists[i].Features {
			b = appendFeature(b, place{step: true}, &lists[i].Features[k])
		}
		b = list.end(b)
	}
	return end(b, all)
}

// openList is a feature list that is being written: it has the start of its entry's
// contents and of the list's.
type openList struct{ entry, list int }

// beginList appends the entry of a feature list up to its first feature.
func beginList(b []byte, name string) ([]byte, openList) {
	var l openList
	b, l.entry = begin(b, tagBytes1)
	b = append(appendHead(b, tagBytes1, len(name)), name...)
	b, l.list = begin(b, tagBytes2)
	return b, l
}

// end writes the lengths.
func (l openList) end(b []byte) []byte { return end(end(b, l.list), l.entry) }
