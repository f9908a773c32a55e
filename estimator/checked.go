package estimator

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/estimator/internal/varname"
	"millrace/graph"
	"millrace/loaders"
	"millrace/observe"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// DefaultSignature is the key of the signature that a model runs by default.
const DefaultSignature = graph.DefaultSignature

// ModelOptions says which part of a SavedModel to load, and how. Nil and the
// zero value mean the defaults.
type ModelOptions struct {
	Signatures []string // keys of the signatures to run; the first is the default; nil: DefaultSignature
	Tags       []string // exact tags of the meta graph; nil: "serve", or the tags of the only meta graph
	AllowOps   []string // operations to allow although they touch the host
	Unchecked  bool     // load a model that the policy refuses: DANGEROUS, see savedmodel.Options
	SHA256     string   // expected hash of saved_model.pb, in hexadecimal; "": any
	Runtime    *tfbridge.RuntimeOptions

	// DecodeLimit is how many bytes one operation of the model may make of bytes that it
	// parses; see [graph.ModelOptions]. 0: 256 MiB.
	DecodeLimit int64

	Session *tfbridge.SessionOptions // nil: soft placement, and threads by the size of the model
	Observe *observe.Listener        // hears the events of the model and its runs; nil: no listener
}

// signatures returns the keys of the signatures.
func (o *ModelOptions) signatures() []string {
	if len(o.Signatures) == 0 {
		return []string{DefaultSignature}
	}
	return o.Signatures
}

// graph returns the options for package graph.
func (o *ModelOptions) graph(session *tfbridge.SessionOptions) *graph.ModelOptions {
	return &graph.ModelOptions{
		Tags: o.Tags, Signatures: o.signatures(), AllowOps: o.AllowOps, Unchecked: o.Unchecked, SHA256: o.SHA256,
		Runtime: o.Runtime, Session: session, DecodeLimit: o.DecodeLimit,
	}
}

// CheckedModel is a SavedModel that was read and checked. [ReadModel] makes
// one, [CheckedModel.Load] loads it. It is read-only and may be shared between
// goroutines.
type CheckedModel struct {
	dir     string
	options ModelOptions
	saved   *savedmodel.Model

	place func(variables []graph.VariableSize) []string // see OnServers; nil: TensorFlow places them
	blank bool
}

// ReadModel reads and checks the SavedModel in dir without loading it. It needs
// no TensorFlow and does not read the values of variables.
//
// To check a config against a model, read the model first, then check the
// config, then load the model. The model's file is then read only once.
func ReadModel(dir string, o *ModelOptions) (*CheckedModel, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	saved, err := graph.ReadModel(dir, o.graph(nil))
	if err != nil {
		return nil, err
	}
	m := &CheckedModel{dir: dir, options: *o, saved: saved}
	for _, key := range o.signatures() {
		s, err := saved.Signature(key)
		if err != nil {
			return nil, err
		}
		if err := validateInputs(dir, s); err != nil {
			return nil, err
		}
		if _, err := fetchable(s); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// WithSession returns the same model, to be loaded into a session with other options.
func (m *CheckedModel) WithSession(o *tfbridge.SessionOptions) *CheckedModel {
	other := *m
	other.options.Session = o
	return &other
}

// OnServers returns the same model, to be loaded into a session with options of a cluster
// whose parameter servers hold the variables. place returns their devices. With blank, the
// variables keep the values that they have there.
func (m *CheckedModel) OnServers(o *tfbridge.SessionOptions, place func(variables []graph.VariableSize) []string, blank bool) *CheckedModel {
	other := m.WithSession(o)
	other.place, other.blank = place, blank
	return other
}

// Saved returns what the check found out about the model: its signatures,
// variables and warnings.
func (m *CheckedModel) Saved() *savedmodel.Model { return m.saved }

// validateInputs refuses a signature with an input that refers to something
// inside the model (a resource or variant).
func validateInputs(dir string, s *savedmodel.Signature) error {
	for _, t := range s.Inputs {
		if dt := t.DType; dt == tfbridge.Resource || dt == tfbridge.Variant {
			return tensorError(dir, s, t.Name, "has dtype %s; such a tensor cannot be fed", dt)
		}
	}
	return nil
}

// tensorError is an error about a tensor of a signature.
func tensorError(dir string, s *savedmodel.Signature, tensor, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrModel, format, args...)
	e.File, e.Signature, e.Tensor = dir, s.Name, tensor
	return e
}

// Outputs returns the outputs of a signature with the given names, in that order.
// nil names stand for all outputs that can be fetched. The signature "" stands
// for the first of ModelOptions.Signatures.
//
// A sparse, ragged or composite output is several outputs, one for each of its
// components; [savedmodel.Tensor] says which belong together.
func (m *CheckedModel) Outputs(signature string, names []string) ([]savedmodel.Tensor, error) {
	s, err := m.Signature(signature)
	if err != nil {
		return nil, err
	}
	if names == nil {
		return fetchable(s)
	}
	var outputs []savedmodel.Tensor
	for i, name := range names {
		at := slices.IndexFunc(s.Outputs, func(t savedmodel.Tensor) bool { return t.Name == name })
		switch {
		case at < 0:
			return nil, tensorError(m.dir, s, name, "the signature has no such output; it has %s", outputNames(s))
		case slices.Contains(names[:i], name):
			return nil, tensorError(m.dir, s, name, "the output is given twice")
		case s.Outputs[at].Err != nil:
			return nil, s.Outputs[at].Err
		}
		outputs = append(outputs, s.Outputs[at])
	}
	return outputs, nil
}

// fetchable returns the outputs of a signature that can be fetched. It is an
// error if there are none of several.
func fetchable(s *savedmodel.Signature) ([]savedmodel.Tensor, error) {
	var outputs []savedmodel.Tensor
	for _, t := range s.Outputs {
		if t.Err == nil {
			outputs = append(outputs, t)
		}
	}
	if outputs == nil && len(s.Outputs) > 0 {
		return nil, s.Outputs[0].Err
	}
	return outputs, nil
}

// outputNames lists the outputs of a signature for a message.
func outputNames(s *savedmodel.Signature) string {
	var names []string
	for _, t := range s.Outputs {
		names = append(names, millrace.QuoteData([]byte(t.Name)))
	}
	return strings.Join(names, ", ")
}

// Signature returns one of the signatures of ModelOptions.Signatures, with its
// inputs and outputs. The key "" stands for the first.
func (m *CheckedModel) Signature(key string) (*savedmodel.Signature, error) {
	keys := m.options.signatures()
	key = cmp.Or(key, keys[0])
	if !slices.Contains(keys, key) {
		e := millrace.Errorf(millrace.ErrModel, "the model was not loaded for this signature, only for %q; see ModelOptions.Signatures", keys)
		e.File, e.Signature = m.dir, key
		return nil, e
	}
	return m.saved.Signature(key)
}

// Names returns the inputs and outputs of a signature for
// [loaders.CheckOptions]. The signature "" stands for the first. The check
// requires, for every input, a tensor of the loader with the same dtype and a
// matching shape.
func (m *CheckedModel) Names(signature string) (*loaders.ModelNames, error) {
	s, err := m.Signature(signature)
	if err != nil {
		return nil, err
	}
	names := &loaders.ModelNames{Specs: map[string]loaders.TensorSpec{}}
	for _, t := range s.Inputs {
		names.Inputs = append(names.Inputs, t.Name)
		names.Specs[t.Name] = specOf(t)
	}
	for _, t := range s.Outputs {
		names.Outputs = append(names.Outputs, t.Name)
	}
	return names, nil
}

// specOf returns the spec of a tensor without its batch dimension, as in a
// loader's specs.
func specOf(t savedmodel.Tensor) loaders.TensorSpec {
	spec := loaders.TensorSpec{Name: t.Name, DType: t.DType}
	if dims := t.Shape.Dims(); len(dims) > 0 {
		spec.Shape = dims[1:]
	}
	return spec
}

// VariableNames returns the names by which [Objective.Variables] may select the model's
// variables: Python's names, and the paths in checkpoints. It is sorted.
func (m *CheckedModel) VariableNames() []string {
	names := map[string]bool{}
	objects := m.saved.VariableObjects()
	for _, v := range m.saved.Variables {
		if object, ok := objects[v.Name]; ok && object.Name != "" {
			names[object.Name] = true
		}
		names[varname.Trimmed(v.Name)] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// MatchesVariable reports whether one of the patterns of [Objective.Variables] matches a
// name.
func MatchesVariable(pattern, name string) bool { return varname.Matches(pattern, name) }
