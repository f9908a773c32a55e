package estimator

import (
	"cmp"
	"slices"
	"time"

	"millrace"
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
	Tags       []string // tags of the MetaGraph; nil: "serve"
	AllowOps   []string // operations to allow although they touch the host
	SHA256     string   // expected hash of saved_model.pb, in hexadecimal; "": any
	Runtime    *tfbridge.RuntimeOptions
	Session    *tfbridge.SessionOptions // nil: chosen by the size of the model
	Observe    *observe.Listener        // hears the events of the model and its runs; nil: no listener
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
		Tags: o.Tags, Signatures: o.signatures(), AllowOps: o.AllowOps, SHA256: o.SHA256, Runtime: o.Runtime, Session: session,
	}
}

// CheckedModel is a SavedModel that was read and checked. [ReadModel] makes
// one, [CheckedModel.Load] loads it. It is read-only and may be shared between
// goroutines.
type CheckedModel struct {
	dir     string
	options ModelOptions
	saved   *savedmodel.Model
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
		if err := validateTensors(dir, s); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Load loads the model. TensorFlow checks the values of the variables as it
// restores them; if one is damaged, Load reads them again to say which.
func (m *CheckedModel) Load() (*Model, error) {
	start := time.Now()
	loaded, err := graph.LoadChecked(m.saved, m.options.graph(m.session()))
	if err != nil {
		return nil, err
	}
	model := &Model{CheckedModel: m, model: loaded, building: make(chan struct{}, 1), opened: time.Now()}
	if l := m.options.Observe; l != nil && l.Opened != nil {
		l.Opened(observe.Opened{Source: m.dir, Duration: model.opened.Sub(start)})
	}
	return model, nil
}

// smallModel is the largest size of a model's variables, in bytes, at which
// each operation runs on a single thread. Splitting so little work over several
// threads costs more than it saves (docs/performance.md). The input pipeline
// uses the other threads.
const smallModel = 1 << 20

// session returns the session options. If the caller set none, the size of the
// model decides.
func (m *CheckedModel) session() *tfbridge.SessionOptions {
	if m.options.Session != nil {
		return m.options.Session
	}
	var bytes int64
	for _, v := range m.saved.Variables {
		bytes += v.Bytes
	}
	if bytes > smallModel {
		return nil
	}
	return &tfbridge.SessionOptions{IntraOpThreads: 1}
}

// validateTensors refuses a signature with composite tensors (sparse, ragged)
// or with tensors that refer to something inside the model (resources,
// variants).
func validateTensors(dir string, s *savedmodel.Signature) error {
	for _, t := range slices.Concat(s.Inputs, s.Outputs) {
		var e *millrace.Error
		switch dt := t.DType; {
		case t.Encoding != savedmodel.Dense:
			e = millrace.Errorf(millrace.ErrModel, "is a %s tensor; only dense tensors can be fed and fetched", t.Encoding)
		case dt == tfbridge.Resource || dt == tfbridge.Variant:
			e = millrace.Errorf(millrace.ErrModel, "has dtype %s; such a tensor can be neither fed nor fetched", dt)
		default:
			continue
		}
		e.File, e.Signature, e.Tensor = dir, s.Name, t.Name
		return e
	}
	return nil
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
