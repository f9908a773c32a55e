package writer

import (
	"slices"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// StructWriter writes a dataset of structs. See [Writer].
type StructWriter[T any] struct {
	*Writer
	encoder *example.Encoder[T]
	buf     []byte
}

// Structs begins a dataset of structs. [example.NewEncoder] documents which features
// their fields become; the manifest describes them. The caller must close the
// StructWriter, even after an error.
func Structs[T any](dir string, o *Options) (*StructWriter[T], error) {
	e, err := example.NewEncoder[T]()
	if err != nil {
		return nil, err
	}
	m, err := Manifest(e.Specs())
	if err != nil {
		return nil, err
	}
	w, err := Create(dir, m, o)
	if err != nil {
		return nil, err
	}
	return &StructWriter[T]{Writer: w, encoder: e}, nil
}

// Write adds the record of a value. It hides [Writer.Write].
func (w *StructWriter[T]) Write(value *T) error {
	room := w.room()
	if room == nil {
		room = w.buf[:0]
	}
	record := w.encoder.Append(room, value)
	if len(record) > cap(room) {
		w.buf = record // larger than any before
	}
	return w.Writer.Write(record)
}

// storedAs maps the kinds of features to those of a manifest.
var storedAs = map[example.Kind]spec.Kind{example.Int64: spec.Int, example.Float: spec.Float, example.Bytes: spec.String}

// Manifest returns the manifest of records with these features, uncompressed. If a
// feature cannot be described, the error has class [millrace.ErrSchema] and names it:
// in SequenceExamples each step, and each context feature, has one shape.
func Manifest(specs []example.FieldSpec) (*spec.ManifestConfig, error) {
	sequence := slices.ContainsFunc(specs, func(s example.FieldSpec) bool { return s.List })
	m := &spec.ManifestConfig{AllowVarLen: sequence}
	for _, s := range specs {
		if sequence && slices.Contains(s.Shape, -1) {
			e := millrace.Errorf(millrace.ErrSchema, "a feature of any number of values beside feature lists: no manifest can describe it; make it an array, or a list of single values")
			e.Feature = s.Name
			return nil, e
		}
		f := spec.FeatureConfig{Name: s.Name, DType: s.DType.String(), Shape: s.Shape, VarLen: s.List, DeserializeType: storedAs[s.Kind]}
		if s.Raw {
			f.DeserializeType, f.DeserializeArgs = spec.Raw, &spec.RawArgs{Endian: example.NativeEndian()}
		}
		m.Features = append(m.Features, f)
	}
	return m, nil
}
