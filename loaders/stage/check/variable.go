package check

import (
	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// TensorFlow's parser of features of any number of values trusts a record twice.
// It takes memory for as many floats as a packed list claims, up to 4 GiB, before
// it looks whether they are there. And a record that lacks the feature is one
// without values to it, whatever the manifest says. Millrace's own operations do
// neither. In front of TensorFlow's parser, Go parses each record in full.

// variableExamples reports whether records are Examples with VarLen features.
func variableExamples(s *spec.Spec) bool { return !s.Manifest.AllowVarLen && s.HasLists() }

// refuseVariable returns an error if TensorFlow must not parse a VarLen feature
// of an Example.
func refuseVariable(f *spec.Feature, records *example.Checker) error {
	raw, err := records.Raw(f.Name)
	if err == nil && raw.Kind() == example.None && !f.Optional {
		err = millrace.Errorf(millrace.ErrSchema, "the record has no such feature")
	}
	return inFeature(err, f, "")
}
