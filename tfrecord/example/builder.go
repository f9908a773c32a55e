package example

import (
	"maps"
	"slices"

	"millrace"
)

// Builder writes Examples, one after the other, in memory that it keeps. It
// allocates nothing once that memory is large enough. The zero value is ready.
//
//	var b example.Builder
//	for _, song := range songs {
//		b.Reset()
//		b.Strings("title", song.Title)
//		b.Floats("samples", song.Samples...)
//		if err := w.Write(b.Record()); err != nil {
//			return err
//		}
//	}
//
// A Builder does not check its input: if two features have the same name, readers use
// the last. Only one goroutine at a time may use it.
type Builder struct {
	buf    []byte
	start  int // start of the features; 0: no Example is begun
	width  int // number of bytes for their length: as in the previous record
	whole  bool
	places []place // places of the features of the first Examples, in their order
	at     int     // number of features so far
}

// Reset begins a new Example. The previous result of Record is overwritten.
func (b *Builder) Reset() {
	b.width = max(1, b.width)
	b.buf, b.start = beginWide(b.buf[:0], tagBytes1, b.width)
	b.whole, b.at = false, 0
}

// place returns where the next feature goes. Consecutive Examples mostly have the same
// features, so a Builder keeps the heads of the first Examples' features.
func (b *Builder) place(name string, kind Kind, count int) place {
	if b.at == len(b.places) {
		first := place{name: name}
		first.keepHeadsOf(kind, false, count)
		b.places = append(b.places, first)
	}
	p := b.places[b.at]
	if b.at++; p.name != name {
		return place{name: name}
	}
	return p
}

// open returns the buffer to append a feature to.
func (b *Builder) open() []byte {
	if b.start == 0 || b.whole {
		b.Reset()
	}
	return b.buf
}

// Ints adds a feature of integers.
func (b *Builder) Ints(name string, values ...int64) {
	buf := b.open()
	b.buf = appendInts(buf, b.place(name, Int64, len(values)), values)
}

// Floats adds a feature of floats.
func (b *Builder) Floats(name string, values ...float32) {
	buf := b.open()
	b.buf = appendFloats(buf, b.place(name, Float, len(values)), values)
}

// Bytes adds a feature of byte strings.
func (b *Builder) Bytes(name string, values ...[]byte) {
	buf := b.open()
	b.buf = appendTexts(buf, b.place(name, Bytes, len(values)), values)
}

// Strings adds a feature of byte strings.
func (b *Builder) Strings(name string, values ...string) {
	buf := b.open()
	b.buf = appendTexts(buf, b.place(name, Bytes, len(values)), values)
}

// Value adds a feature that holds a Go value: a number, a bool, a string or a []byte,
// or a slice of these. Numbers of floating point are stored as 32 bits. It returns an
// error of class [millrace.ErrSchema] for a value of another type.
func (b *Builder) Value(name string, value any) error {
	buf, ok := appendValue(b.open(), place{name: name}, value)
	if !ok {
		e := millrace.Errorf(millrace.ErrSchema, "a feature cannot hold a %T: want a number, a bool, a string or a []byte, or a slice of these", value)
		e.Feature = name
		return e
	}
	b.buf = buf
	return nil
}

// Record returns the bytes of the Example, which are valid until the next call of
// another method.
func (b *Builder) Record() []byte {
	if b.start == 0 {
		b.Reset()
	}
	if !b.whole {
		b.buf, b.whole = endWide(b.buf, b.start, b.width), true
		b.width = varintLen(len(b.buf) - b.start)
	}
	return b.buf
}

// MarshalMap returns the bytes of an Example with a feature for each entry of a map,
// in the order of the names. For the types of the values see [Builder.Value].
func MarshalMap(features map[string]any) ([]byte, error) {
	var b Builder
	b.Reset()
	for _, name := range slices.Sorted(maps.Keys(features)) {
		if err := b.Value(name, features[name]); err != nil {
			return nil, err
		}
	}
	return b.Record(), nil
}

// appendValue appends a feature that holds a Go value. It returns false for a value
// that a feature cannot store.
func appendValue(b []byte, p place, value any) ([]byte, bool) {
	if out, ok := appendIntegers(b, p, value); ok {
		return out, true
	}
	switch v := value.(type) {
	case float32:
		return appendFloats(b, p, []float32{v}), true
	case float64:
		return appendFloats(b, p, []float64{v}), true
	case []float32:
		return appendFloats(b, p, v), true
	case []float64:
		return appendFloats(b, p, v), true
	case string:
		return appendTexts(b, p, []string{v}), true
	case []byte:
		return appendTexts(b, p, [][]byte{v}), true
	case []string:
		return appendTexts(b, p, v), true
	case [][]byte:
		return appendTexts(b, p, v), true
	case bool:
		return appendBools(b, p, []bool{v}), true
	case []bool:
		return appendBools(b, p, v), true
	}
	return b, false
}

// appendIntegers is appendValue for integers.
func appendIntegers(b []byte, p place, value any) ([]byte, bool) {
	switch v := value.(type) {
	case int:
		return appendInts(b, p, []int{v}), true
	case int8:
		return appendInts(b, p, []int8{v}), true
	case int16:
		return appendInts(b, p, []int16{v}), true
	case int32:
		return appendInts(b, p, []int32{v}), true
	case int64:
		return appendInts(b, p, []int64{v}), true
	case uint:
		return appendInts(b, p, []uint{v}), true
	case uint8:
		return appendInts(b, p, []uint8{v}), true
	case uint16:
		return appendInts(b, p, []uint16{v}), true
	case uint32:
		return appendInts(b, p, []uint32{v}), true
	case uint64:
		return appendInts(b, p, []uint64{v}), true
	case []int:
		return appendInts(b, p, v), true
	case []int8:
		return appendInts(b, p, v), true
	case []int16:
		return appendInts(b, p, v), true
	case []int32:
		return appendInts(b, p, v), true
	case []int64:
		return appendInts(b, p, v), true
	case []uint:
		return appendInts(b, p, v), true
	case []uint16:
		return appendInts(b, p, v), true
	case []uint32:
		return appendInts(b, p, v), true
	case []uint64:
		return appendInts(b, p, v), true
	}
	return b, false
}
