package rest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"millrace"
	"millrace/loaders"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// features are the features of a record by name: one list for each feature, or for a
// feature list one list for each element.
type features map[string]feature

// feature is the stored form of a feature.
type feature struct {
	lists    []example.Feature
	sequence bool // it is a feature list
}

// over returns the features, and those of a context that they do not replace.
func (f features) over(context features) features {
	all := maps.Clone(context)
	if all == nil {
		return f
	}
	maps.Copy(all, f)
	return all
}

// marshal returns the record: an Example, or a SequenceExample if a loader's manifest
// declares it.
func (f features) marshal(plan *loaders.Plan) string {
	var plain []example.Named
	var lists []example.NamedList
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if one := f[name]; one.sequence {
			lists = append(lists, example.NamedList{Name: name, Features: one.lists})
		} else {
			plain = append(plain, example.Named{Name: name, Feature: one.lists[0]})
		}
	}
	if plan != nil && plan.Manifest.AllowVarLen {
		return string(example.MarshalSequence(plain, lists))
	}
	return string(example.Marshal(plain))
}

// parseFeatures takes an object of features, each a value or lists of values.
func parseFeatures(s *scanner, plan *loaders.Plan) (features, error) {
	if s.peek() != '{' {
		return nil, s.errorf("Example must be JSON object but got %s", s.shown())
	}
	all := features{}
	err := s.object(func(name string) (err error) {
		if known := featureOf(plan, name); known != nil {
			all[name], err = parseKnown(s, known, plan.Manifest.AllowVarLen)
			return err
		}
		var list example.Feature
		if s.peek() == '[' {
			_, err = s.list(func(int) error { return addValue(s, name, &list) })
		} else {
			err = addValue(s, name, &list)
		}
		all[name] = feature{lists: []example.Feature{list}}
		return err
	})
	return all, err
}

// featureOf returns the manifest's declaration of a feature that the loader reads.
func featureOf(plan *loaders.Plan, name string) *spec.Feature {
	if plan == nil {
		return nil
	}
	for _, f := range plan.Features {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// parseKnown reads a feature by its declaration in the manifest: numbers of the stored
// kind, nested like the shape or in one list. The bytes of a raw feature may be given
// as numbers, or in base64.
func parseKnown(s *scanner, f *spec.Feature, sequences bool) (feature, error) {
	at := *s
	packed := f.Kind == spec.Raw && startsText(&at)
	b, want := newBuilder(f.StoredType()), f.TensorShape()
	switch {
	case packed:
		want = f.StoredShape()
		if f.VarLen {
			want = []int64{-1}
		}
	case f.Kind == spec.Raw:
		b.dtype = f.DType
	}
	if err := b.add(s, 0); err != nil {
		return feature{}, invalid("feature %s: %w", millrace.Quote(f.Name), err)
	}
	if shape := b.shape[:max(b.rank, 0)]; !fits(shape, want) {
		return feature{}, s.errorf("feature %s: values of shape %v, want %v", millrace.Quote(f.Name), shape, tfbridge.MakeShape(want...))
	}
	values := storedValues(b, f, packed)
	if !f.VarLen || !sequences {
		return feature{lists: []example.Feature{values}}, nil
	}
	return feature{lists: eachElement(values, f), sequence: true}, nil
}

// startsText reports whether the first value, inside of lists, is text or bytes.
func startsText(s *scanner) bool {
	for s.peek() == '[' {
		s.at++
	}
	c := s.peek()
	return c == '"' || c == '{'
}

// fits reports whether nested lists have a shape, or are a single list or a single
// value with as many values. A first dimension of -1 allows any size.
func fits(shape, want []int64) bool {
	same := func(got, want int64) bool { return want < 0 || got == want }
	if slices.EqualFunc(shape, want, same) {
		return true
	}
	if len(shape) > 1 {
		return false
	}
	n := int64(1)
	if len(shape) == 1 {
		n = shape[0]
	}
	if len(want) > 0 && want[0] < 0 {
		each := spec.NumElements(want[1:])
		return each > 0 && n%each == 0
	}
	return n == spec.NumElements(want)
}

// storedValues returns the values in their stored form, in one list.
func storedValues(b *builder, f *spec.Feature, packed bool) example.Feature {
	order := binary.NativeEndian
	switch {
	case f.Kind == spec.String || packed:
		v := example.Feature{Kind: example.Bytes}
		for _, text := range b.texts {
			v.Bytes = append(v.Bytes, []byte(text))
		}
		return v
	case f.Kind == spec.Raw:
		v := example.Feature{Kind: example.Bytes}
		size := int(spec.NumElements(f.Shape)) * f.DType.Size()
		for each := range slices.Chunk(inOrder(b.raw, f), max(size, 1)) {
			v.Bytes = append(v.Bytes, each)
		}
		return v
	case f.Kind == spec.Float:
		v := example.Feature{Kind: example.Float}
		for each := range slices.Chunk(b.raw, 4) {
			v.Floats = append(v.Floats, math.Float32frombits(order.Uint32(each)))
		}
		return v
	}
	v := example.Feature{Kind: example.Int64}
	for each := range slices.Chunk(b.raw, 8) {
		v.Ints = append(v.Ints, int64(order.Uint64(each)))
	}
	return v
}

// inOrder returns numbers of this machine in the byte order of a raw feature.
func inOrder(raw []byte, f *spec.Feature) []byte {
	big := binary.NativeEndian.Uint16([]byte{0, 1}) == 1
	if (f.Endian == "big") == big {
		return raw
	}
	for number := range slices.Chunk(raw, f.DType.Size()) {
		slices.Reverse(number)
	}
	return raw
}

// eachElement splits values into those of each element of a feature list.
func eachElement(v example.Feature, f *spec.Feature) []example.Feature {
	each := int(spec.NumElements(f.StoredShape()))
	if f.Kind == spec.Raw {
		each = 1
	}
	all := []example.Feature{}
	for at := 0; each > 0 && at < v.Len(); at += each {
		one := example.Feature{Kind: v.Kind}
		switch v.Kind {
		case example.Bytes:
			one.Bytes = v.Bytes[at : at+each]
		case example.Float:
			one.Floats = v.Floats[at : at+each]
		default:
			one.Ints = v.Ints[at : at+each]
		}
		all = append(all, one)
	}
	return all
}
