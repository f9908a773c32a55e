package datapipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// ExternData describes the data of a dataset's sequences by key, like RETURNN's class of
// that name.
type ExternData struct {
	Data         map[string]Data
	DefaultInput string // the key whose length is the length of a sequence; "": "data"
	// DataKeys are the keys to read, as a model that needs a part of the data names them.
	// Sequences may have the others, which are skipped. Nil: all keys of Data.
	DataKeys []string
}

// Data describes the data of one key.
type Data struct {
	DType tfbridge.DataType
	// Shape is the shape within one sequence, without a batch dimension. A first
	// dimension of -1 is the time axis: its positions are the frames.
	Shape tfbridge.Shape
	// Whole data has no time axis, although its first dimension is -1. Every chunk of a
	// sequence contains all of it.
	Whole bool
}

// HasTimeAxis reports whether the first dimension counts frames.
func (d Data) HasTimeAxis() bool {
	return !d.Whole && d.Shape.NumDimensions() > 0 && d.Shape.Size(0) < 0
}

// sizeAxes returns the dimensions whose size varies from sequence to sequence.
func (d Data) sizeAxes() []int {
	var axes []int
	for i := range d.Shape.NumDimensions() {
		if d.Shape.Size(i) < 0 {
			axes = append(axes, i)
		}
	}
	return axes
}

// The special keys, which a reader adds to the data of a sequence. No dataset may
// use their names.
const (
	SeqTag   = "seq_tag"   // string: the name of the sequence
	SeqIdx   = "seq_idx"   // int32: its position in the epoch
	EpochEnd = "epoch_end" // bool: this element is not a sequence, but marks the end of the epoch
)

// SpecialKeys returns the special keys.
func SpecialKeys() []string { return []string{SeqTag, SeqIdx, EpochEnd} }

// Size returns the key of the size of a dimension: "data/size0".
func Size(key string, axis int) string { return fmt.Sprintf("%s/size%d", key, axis) }

// defaultInput returns the key whose length is the length of a sequence.
func (e *ExternData) defaultInput() string {
	if e.DefaultInput == "" {
		return "data"
	}
	return e.DefaultInput
}

// Keys returns the keys to read, sorted.
func (e *ExternData) Keys() []string {
	if e.DataKeys != nil {
		return slices.Sorted(slices.Values(e.DataKeys))
	}
	return slices.Sorted(maps.Keys(e.Data))
}

// reads reports whether a key of the data is to be read.
func (e *ExternData) reads(key string) bool {
	_, ok := e.Data[key]
	return ok && (e.DataKeys == nil || slices.Contains(e.DataKeys, key))
}

// timeKeys returns the sorted keys of the data with a time axis.
func (e *ExternData) timeKeys() []string {
	return slices.DeleteFunc(e.Keys(), func(key string) bool { return !e.Data[key].HasTimeAxis() })
}

// check returns an error if the description is invalid.
func (e *ExternData) check() error {
	if e == nil || len(e.Data) == 0 {
		return millrace.Errorf(millrace.ErrModel, "the extern data has no keys")
	}
	if err := e.checkKeys(); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(e.Data)) {
		d := e.Data[key]
		switch {
		case key == "" || strings.Contains(key, "/size"):
			return millrace.Errorf(millrace.ErrModel, "the extern data has the key %q; a key is not empty and does not contain \"/size\"", key)
		case slices.Contains(SpecialKeys(), key):
			return millrace.Errorf(millrace.ErrModel, "the extern data has the key %q, which is reserved", key)
		case d.DType != tfbridge.String && d.DType.Size() <= 0 || d.DType != d.DType.Base():
			return millrace.Errorf(millrace.ErrModel, "key %q has data type %v; it must be a number, a bool or a string", key, d.DType)
		case d.Shape.NumDimensions() < 0:
			return millrace.Errorf(millrace.ErrModel, "key %q has an unknown number of dimensions", key)
		}
		if err := d.Shape.Check(); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
	d := e.Data[e.defaultInput()]
	if !e.reads(e.defaultInput()) {
		return millrace.Errorf(millrace.ErrModel, "the default input %q is not among the keys %q; set DefaultInput", e.defaultInput(), e.Keys())
	}
	if !d.HasTimeAxis() {
		return millrace.Errorf(millrace.ErrModel, "the default input %q has shape %v and no time axis; its first dimension must be -1", e.defaultInput(), d.Shape)
	}
	return nil
}

// checkKeys returns an error if DataKeys has a key twice or one that the data lack.
func (e *ExternData) checkKeys() error {
	for i, key := range e.DataKeys {
		if _, ok := e.Data[key]; !ok {
			return millrace.Errorf(millrace.ErrModel, "DataKeys has %q, which is not among the keys %q of the data", key, slices.Sorted(maps.Keys(e.Data)))
		}
		if slices.Contains(e.DataKeys[:i], key) {
			return millrace.Errorf(millrace.ErrModel, "DataKeys has %q twice", key)
		}
	}
	return nil
}

// DTypeForKey returns the data type of a key of the data, of a size or of a special
// key, and 0 for any other.
func (e *ExternData) DTypeForKey(key string) tfbridge.DataType {
	spec, _ := e.spec(key)
	return spec.DType
}

// ShapeForKey returns the shape of a key within one sequence, without a batch dimension. It
// is unknown for a key that does not exist.
func (e *ExternData) ShapeForKey(key string) tfbridge.Shape {
	spec, _ := e.spec(key)
	return spec.Shape
}

// spec describes a key of the data, a size or a special key.
func (e *ExternData) spec(key string) (graph.Spec, bool) {
	scalar := func(dt tfbridge.DataType) (graph.Spec, bool) {
		return graph.Spec{Name: key, DType: dt, Shape: tfbridge.ScalarShape()}, true
	}
	switch key {
	case SeqTag:
		return scalar(tfbridge.String)
	case SeqIdx:
		return scalar(tfbridge.Int32)
	case EpochEnd:
		return scalar(tfbridge.Bool)
	}
	of, _, _ := strings.Cut(key, "/size")
	if !e.reads(of) {
		return graph.Spec{}, false
	}
	if d, ok := e.Data[key]; ok {
		return graph.Spec{Name: key, DType: d.DType, Shape: d.Shape}, true
	}
	for _, axis := range e.Data[of].sizeAxes() {
		if key == Size(of, axis) {
			return scalar(tfbridge.Int32)
		}
	}
	return graph.Spec{}, false
}

// components describes an element: the data, the sizes of its dimensions that vary,
// and some special keys, sorted by name.
func (e *ExternData) components(special ...string) []graph.Spec {
	names := slices.Clone(special)
	for _, key := range e.Keys() {
		names = append(names, key)
		for _, axis := range e.Data[key].sizeAxes() {
			names = append(names, Size(key, axis))
		}
	}
	slices.Sort(names)
	specs := make([]graph.Spec, len(names))
	for i, name := range names {
		specs[i], _ = e.spec(name)
	}
	return specs
}

// batched returns the shape of a batch of tensors of a shape.
func batched(shape tfbridge.Shape) tfbridge.Shape {
	return tfbridge.MakeShape(append([]int64{-1}, shape.Dims()...)...)
}
