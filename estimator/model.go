package estimator

import (
	"cmp"
	"slices"
	"sync"

	"millrace"
	"millrace/graph"
	"millrace/loaders"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// DefaultSignature is the signature that a model is run by unless told
// otherwise.
const DefaultSignature = graph.DefaultSignature

// ModelOptions says which part of a SavedModel is loaded and how. Nil and the
// zero value mean the defaults.
type ModelOptions struct {
	Signature string   // key of the signature; "": DefaultSignature
	Tags      []string // of the MetaGraph; nil: "serve"
	AllowOps  []string // operations that touch the host and are allowed all the same
	SHA256    string   // of saved_model.pb, in hexadecimal; "": not pinned
	Runtime   *tfbridge.RuntimeOptions
	Session   *tfbridge.SessionOptions // nil: by the size of the model
}

// Model is a SavedModel loaded for one of its signatures. It owns the graph
// and the session; [Model.Close] frees them. A model is a program: it is
// checked before TensorFlow sees it, and operations that touch files or the
// network are refused unless allowed, but that is no sandbox.
//
// Predict may be called many times, not concurrently.
type Model struct {
	dir       string
	signature *savedmodel.Signature
	model     *graph.Model

	mu     sync.Mutex
	joined int // pipelines built into the graph so far
}

// LoadModel checks and loads the SavedModel in dir. The values of variables
// are checked by TensorFlow as it restores them, and read again only to say
// which one is damaged.
func LoadModel(dir string, o *ModelOptions) (*Model, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	checked, signature, err := o.read(dir)
	if err != nil {
		return nil, err
	}
	loaded, err := graph.LoadChecked(checked, o.graph(o.session(checked)))
	if err != nil {
		return nil, err
	}
	return &Model{dir: dir, signature: signature, model: loaded}, nil
}

// graph returns the options for package graph.
func (o *ModelOptions) graph(session *tfbridge.SessionOptions) *graph.ModelOptions {
	return &graph.ModelOptions{
		Tags: o.Tags, Signatures: []string{cmp.Or(o.Signature, DefaultSignature)},
		AllowOps: o.AllowOps, SHA256: o.SHA256, Runtime: o.Runtime, Session: session,
	}
}

// read checks the model in dir without loading it.
func (o *ModelOptions) read(dir string) (*savedmodel.Model, *savedmodel.Signature, error) {
	checked, err := graph.ReadModel(dir, o.graph(nil))
	if err != nil {
		return nil, nil, err
	}
	signature, err := checked.Signature(cmp.Or(o.Signature, DefaultSignature))
	if err != nil {
		return nil, nil, err
	}
	return checked, signature, tangible(dir, signature)
}

// smallModel is how many bytes of variables a model may have for its
// operations to run on one thread each: handing parts of so little work to
// other threads costs more than it saves (docs/performance.md). The input
// pipeline keeps the others busy.
const smallModel = 1 << 20

// session returns the options of the session, chosen by the size of the model
// where the caller left them open.
func (o *ModelOptions) session(m *savedmodel.Model) *tfbridge.SessionOptions {
	if o.Session != nil {
		return o.Session
	}
	var bytes int64
	for _, v := range m.Variables {
		bytes += v.Bytes
	}
	if bytes > smallModel {
		return nil
	}
	return &tfbridge.SessionOptions{IntraOpThreads: 1}
}

// tangible refuses a signature with tensors that are made of several, or that
// stand for something inside the model.
func tangible(dir string, s *savedmodel.Signature) error {
	for _, t := range slices.Concat(s.Inputs, s.Outputs) {
		var e *millrace.Error
		switch dt := t.DType; {
		case t.Encoding != savedmodel.Dense:
			e = millrace.Errorf(millrace.ErrModel, "a %s tensor; only dense tensors can be fed and fetched", t.Encoding)
		case dt == tfbridge.Resource || dt == tfbridge.Variant:
			e = millrace.Errorf(millrace.ErrModel, "a tensor of dtype %s can be neither fed nor fetched", dt)
		default:
			continue
		}
		e.File, e.Signature, e.Tensor = dir, s.Name, t.Name
		return e
	}
	return nil
}

// Signature returns the signature that the model runs, with its inputs and
// outputs.
func (m *Model) Signature() *savedmodel.Signature { return m.signature }

// Names returns the signature's inputs and outputs for
// [loaders.CheckOptions]: every input must be fed by a tensor of the loader,
// of its dtype and a shape that fits.
func (m *Model) Names() *loaders.ModelNames {
	names := &loaders.ModelNames{Specs: map[string]loaders.TensorSpec{}}
	for _, t := range m.signature.Inputs {
		names.Inputs = append(names.Inputs, t.Name)
		names.Specs[t.Name] = specOf(t)
	}
	for _, t := range m.signature.Outputs {
		names.Outputs = append(names.Outputs, t.Name)
	}
	return names
}

// specOf drops the batch dimension, which a loader's specs do not have.
func specOf(t savedmodel.Tensor) loaders.TensorSpec {
	spec := loaders.TensorSpec{Name: t.Name, DType: t.DType}
	if dims := t.Shape.Dims(); len(dims) > 0 {
		spec.Shape = dims[1:]
	}
	return spec
}

// Close frees the model. It is idempotent.
func (m *Model) Close() error { return m.model.Close() }
