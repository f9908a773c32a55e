package check

import (
	"errors"
	"fmt"
	"slices"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// Record reports why a record cannot become an element: a missing
// feature, another kind of list, another number of values, a value that a
// checked cast would lose, an index or a padding that its shape does not
// allow, a key that comes twice where that is an error. The error has the feature or the tensor but no place. Record is
// stricter than the loader, see plan.Plan.CheckRecords.
func Record(s *spec.Spec, data []byte) error {
	if len(data) == 0 && (s.AllowEmptyRecords == nil || !*s.AllowEmptyRecords) {
		return millrace.Errorf(millrace.ErrSchema, "an empty record (0 bytes): it holds no features")
	}
	features, err := featuresOf(s, data)
	if err != nil {
		return err
	}
	if s.RefuseDuplicates {
		if err := features.checkDuplicates(); err != nil {
			return err
		}
	}
	shapes := make(map[*spec.Feature][]int64, len(s.Features))
	for _, f := range s.Features {
		stored, err := features.stored(f)
		if err == nil {
			shapes[f], err = features.checkLists(f, stored)
		}
		if err != nil {
			return inFeature(err, f, features.hint(f))
		}
	}
	return checkShapes(s, shapes)
}

// Length returns the size of a feature's first axis in a record.
func Length(s *spec.Spec, data []byte, f *spec.Feature) (int64, error) {
	if !f.VarLen {
		return f.TensorShape()[0], nil
	}
	features, err := featuresOf(s, data)
	if err != nil {
		return 0, err
	}
	stored, err := features.stored(f)
	if err == nil {
		return features.shape(f, stored)[0], nil
	}
	return 0, inFeature(err, f, features.hint(f))
}

// inFeature names the feature in an error.
func inFeature(err error, f *spec.Feature, hint string) error {
	e, ok := err.(*millrace.Error)
	if !ok {
		return err
	}
	e.Feature = f.Name
	e.Msg += hint
	return e
}

// recordFeatures is a record of either form.
type recordFeatures struct {
	data     []byte
	features *example.Features        // the features of an Example, or the context of a SequenceExample
	sequence *example.SequenceExample // nil for an Example
}

func featuresOf(s *spec.Spec, data []byte) (*recordFeatures, error) {
	if !s.Manifest.AllowVarLen {
		features, err := example.Parse(data)
		return &recordFeatures{data: data, features: features}, err
	}
	sequence, err := example.ParseSequence(data)
	if err != nil {
		return nil, err
	}
	return &recordFeatures{data: data, features: &sequence.Context, sequence: sequence}, nil
}

// checkDuplicates checks that no key occurs twice, even for features that are not read.
func (r *recordFeatures) checkDuplicates() error {
	name, found := r.features.Duplicate()
	what := "feature"
	if !found && r.sequence != nil {
		name, found = r.sequence.DuplicateList()
		what = "feature list"
	}
	if !found {
		return nil
	}
	e := millrace.Errorf(millrace.ErrSchema, "the record has more than one %s of this name (duplicate_features)", what)
	e.Feature = name
	return e
}

// hasList reports whether a record stores a feature as a feature list.
func (r *recordFeatures) hasList(f *spec.Feature) bool { return f.VarLen && r.sequence != nil }

// stored returns the lists that a record stores for a feature: one list, or a list for
// each element of a feature list. An optional feature that the record lacks has none.
func (r *recordFeatures) stored(f *spec.Feature) ([]example.Raw, error) {
	if r.hasList(f) {
		if !r.sequence.HasList(f.Name) {
			return nil, millrace.Errorf(millrace.ErrSchema, "the record has no such feature list")
		}
		return r.sequence.List(f.Name)
	}
	raw, err := r.features.Raw(f.Name)
	if err != nil {
		return nil, err
	}
	if raw.Kind() == example.None && f.Optional {
		return nil, nil
	}
	if raw.Kind() == example.None {
		return nil, millrace.Errorf(millrace.ErrSchema, "the record has no such feature")
	}
	return []example.Raw{raw}, nil
}

// hint explains where a missing feature may be found.
func (r *recordFeatures) hint(f *spec.Feature) string {
	if r.sequence == nil {
		other, err := example.ParseSequence(r.data)
		if err == nil && !r.features.Has(f.Name) && (other.HasList(f.Name) || example.Sniff(r.data) == example.LikeSequence) {
			return "; it looks like a SequenceExample: set allow_var_len in the manifest"
		}
		return ""
	}
	switch {
	case f.VarLen && !r.sequence.HasList(f.Name) && r.features.Has(f.Name):
		if len(r.sequence.ListNames()) == 0 {
			return "; it looks like an Example: set allow_var_len to false in the manifest"
		}
		return "; the context has a feature of this name: set var_len to false in the manifest"
	case f.VarLen && !r.sequence.HasList(f.Name) && len(r.sequence.ListNames()) == 0:
		return "; it looks like an Example, which has no feature lists"
	case !f.VarLen && !r.features.Has(f.Name) && r.sequence.HasList(f.Name):
		return "; there is a feature list of this name: set var_len in the manifest"
	}
	return ""
}

// listKind returns the list that a feature's deserialize_type asks for.
func listKind(f *spec.Feature) example.Kind {
	switch f.Kind {
	case spec.Int:
		return example.Int64
	case spec.Float:
		return example.Float
	default:
		return example.Bytes
	}
}

// checkLists checks the stored lists of a feature and returns the shape of its
// tensor.
func (r *recordFeatures) checkLists(f *spec.Feature, stored []example.Raw) ([]int64, error) {
	for i, raw := range stored {
		var err error
		if f.VarLen && !r.hasList(f) {
			err = checkVariable(f, raw)
		} else {
			err = checkList(f, raw)
		}
		if e, ok := err.(*millrace.Error); ok && r.hasList(f) {
			e.Msg = fmt.Sprintf("element %d: %s", i, e.Msg)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.shape(f, stored), nil
}

// shape returns the shape of a feature's tensor, given its stored lists.
func (r *recordFeatures) shape(f *spec.Feature, stored []example.Raw) []int64 {
	shape := slices.Clone(f.TensorShape())
	switch {
	case !f.VarLen:
	case r.hasList(f):
		shape[0] = int64(len(stored))
	default:
		shape[0] = 0
		for _, raw := range stored {
			shape[0] = int64(raw.Len()) / spec.NumElements(f.Shape)
		}
	}
	return shape
}

// checkVariable checks the list that a record stores of a VarLen feature.
func checkVariable(f *spec.Feature, raw example.Raw) error {
	if err := checkKind(f, raw); err != nil {
		return err
	}
	each := spec.NumElements(f.Shape)
	if got := int64(raw.Len()); got%each != 0 {
		return millrace.Errorf(millrace.ErrSchema, "%s stored, want a multiple of %d for shape %v", values(got), each, f.TensorShape())
	}
	return checkCast(f, raw)
}

// checkList checks one stored list: its kind, the number of its values, the
// bytes of raw tensors and the values of a checked cast.
func checkList(f *spec.Feature, raw example.Raw) error {
	if err := checkKind(f, raw); err != nil {
		return err
	}
	want := spec.NumElements(f.StoredShape())
	if got := int64(raw.Len()); got != want {
		return millrace.Errorf(millrace.ErrSchema, "%s stored, want %d for shape %v", values(got), want, f.StoredShape())
	}
	return checkCast(f, raw)
}

// checkKind checks that a list is of the kind that a feature is stored as.
func checkKind(f *spec.Feature, raw example.Raw) error {
	if kind := raw.Kind(); kind != listKind(f) && kind != example.None {
		return millrace.Errorf(millrace.ErrSchema, "stored as a %s list, but deserialize_type %q needs a %s list", kind, f.Kind, listKind(f))
	}
	return nil
}

// checkCast checks the bytes of raw tensors, the values of a checked cast, and whether
// values are finite where they must be.
func checkCast(f *spec.Feature, raw example.Raw) error {
	if f.Kind == spec.Raw {
		if err := checkRaw(f, raw); err != nil || !f.Finite {
			return err
		}
	}
	if f.Finite {
		if err := checkFinite(f, raw.Decode()); err != nil {
			return err
		}
	}
	if f.Kind != spec.Raw && f.CheckedCast && f.DType != f.StoredType() {
		return checkValues(f, raw.Decode())
	}
	return nil
}

func values(n int64) string {
	if n == 1 {
		return "1 value is"
	}
	return fmt.Sprintf("%d values are", n)
}

// checkRaw checks that every byte string is as long as its tensor.
func checkRaw(f *spec.Feature, raw example.Raw) error {
	size := int64(f.DType.Size())
	for _, got := range raw.ByteLens() {
		if int64(got) == spec.NumElements(f.Shape)*size {
			continue
		}
		e := millrace.Errorf(millrace.ErrSchema, "%d raw bytes, want %d for shape %v of %s", got, spec.NumElements(f.Shape)*size, f.Shape, f.DType)
		if int64(got)%size != 0 {
			e.Msg += " (no whole number of elements)"
		}
		return e
	}
	return nil
}

// checkShapes follows the shapes of one record through secondaries, steps and
// padding.
func checkShapes(s *spec.Spec, shapes map[*spec.Feature][]int64) error {
	switch w := s.Window; {
	case w == nil:
	case w.Unit == spec.Positions:
		return checkLengths(s, shapes)
	default:
		return nil // later stages see windows, not records
	}
	tensors, err := tensorShapes(s, shapes)
	if err != nil {
		return err
	}
	if s.Chunks != nil {
		return checkRows(s, tensors)
	}
	return checkPadded(s, tensors)
}

// tensorShapes returns the shapes of a record's tensors after the processing steps.
func tensorShapes(s *spec.Spec, shapes map[*spec.Feature][]int64) (map[string][]int64, error) {
	tensors := make(map[string][]int64, len(s.Tensors))
	for _, primary := range s.Primaries {
		tensors[primary.To] = shapes[primary.From]
	}
	for _, c := range s.Secondaries {
		tensors[c.To] = c.Shape
		if c.ShapeFrom != "" {
			tensors[c.To] = tensors[c.ShapeFrom]
		}
	}
	for _, step := range s.Steps {
		if err := stepShape(step, tensors); err != nil {
			return nil, err
		}
	}
	return tensors, nil
}

// stepShape applies a processing step to the shapes of a record's tensors. It removes the
// shapes of tensors that the step drops, and a shape that depends on values.
func stepShape(step spec.Step, tensors map[string][]int64) error {
	shape, known, err := shapeAfter(step, tensors)
	var e *millrace.Error
	if errors.As(err, &e) {
		e.Key, e.Tensor = fmt.Sprintf("args.processing_steps[%d]", step.Index), step.Reads[0]
	}
	for _, name := range append(step.Drops, step.Writes) {
		delete(tensors, name)
	}
	if known {
		tensors[step.Writes] = shape
	}
	return err
}

// shapeAfter returns the shape of the tensor that a step writes, if it is known.
func shapeAfter(step spec.Step, tensors map[string][]int64) (shape []int64, known bool, err error) {
	if step.Writes == "" {
		return nil, false, nil
	}
	if len(step.Reads) == 1 {
		if in, ok := tensors[step.Reads[0]]; ok {
			return step.Shape(in)
		}
	}
	shape = step.Result().Shape
	return shape, !slices.Contains(shape, -1), nil
}

// checkLengths checks that all features of a record have the same number of positions.
func checkLengths(s *spec.Spec, shapes map[*spec.Feature][]int64) error {
	first := s.Features[0]
	for _, f := range s.Features[1:] {
		if shapes[f][0] == shapes[first][0] {
			continue
		}
		return millrace.Errorf(millrace.ErrSchema,
			"features %s and %s have %d and %d positions; in a continuous sequence all features of a record have as many",
			millrace.Quote(first.Name), millrace.Quote(f.Name), shapes[first][0], shapes[f][0])
	}
	return nil
}

// checkPadded checks that no tensor exceeds its padded shape.
func checkPadded(s *spec.Spec, tensors map[string][]int64) error {
	for _, pad := range s.Examples().Padding {
		shape := tensors[pad.Tensor]
		for axis, n := range shape {
			if to := pad.Shape[axis]; to >= 0 && n > to {
				e := millrace.Errorf(millrace.ErrSchema, "shape %v is larger than its padding %v in dimension %d; pad to more, or to -1", shape, pad.Shape, axis)
				e.Tensor = pad.Tensor
				return e
			}
		}
	}
	return nil
}
