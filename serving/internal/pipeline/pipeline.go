// Package pipeline puts a loader's processing in front of the signatures of a served
// model, so that the records of requests are processed like the records of files.
//
//	records --> parse, cast, slice, const, pad --> the model's signature --> outputs
//	string[?]       the loader's operations        a copy of its operations
//
// Both parts are one graph, and a request is one run of it.
package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/fuse"
	"millrace/loaders"
	"millrace/tfbridge"
)

// Input is the only input of a signature with a loader: serialized records. Classify
// and Regress look for it by this name.
const Input = "inputs"

// DefaultKey is the key of the default signature with a loader. That of another
// signature is its own key followed by [Suffix].
const (
	DefaultKey = "examples"
	Suffix     = "_examples"
)

// scope is where the operations are in the model's graph.
const scope = "millrace_examples"

// Pipeline is a loader in front of a model's signatures. Many goroutines may use it.
type Pipeline struct {
	Plan *loaders.Plan
	Keys []string // keys of the signatures that it added to the model, sorted

	processing *loaders.Processing
}

// Add adds a plan's processing to a model's graph. For each signature whose inputs it
// gives, Add adds a signature that takes records. If there is no such signature, the
// error has class millrace.ErrModel and gives the reason.
func Add(m *graph.Model, plan *loaders.Plan) (*Pipeline, error) {
	s := graph.NewScopeWithGraph(m.Graph()).SubScope(scope)
	records := s.Placeholder(tfbridge.String, tfbridge.MakeShape(-1))
	processing, err := loaders.BuildProcessing(s, plan, records)
	if err != nil {
		return nil, err
	}
	a := &adding{model: m, tensors: processing.Tensors, records: records}
	p := &Pipeline{Plan: plan, processing: processing}
	var misfits []error
	all := m.Signatures()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		sig := all[key]
		if misfit := a.fits(sig); misfit != nil {
			misfits = append(misfits, fmt.Errorf("signature %q: %w", key, misfit))
			continue
		}
		added := keyOf(key)
		if err := a.add(key, added, sig); err != nil {
			return nil, err
		}
		p.Keys = append(p.Keys, added)
	}
	if len(p.Keys) == 0 {
		return nil, noFit(plan, misfits)
	}
	slices.Sort(p.Keys)
	return p, nil
}

// Has reports whether a signature has the loader. The pipeline may be nil.
func (p *Pipeline) Has(key string) bool { return p != nil && slices.Contains(p.Keys, key) }

// keyOf returns the key of a signature with a loader.
func keyOf(key string) string {
	if key == graph.DefaultSignature {
		return DefaultKey
	}
	return key + Suffix
}

// noFit returns the error about a loader that feeds no signature.
func noFit(plan *loaders.Plan, misfits []error) error {
	text := "the model has none"
	for i, misfit := range misfits {
		if i == 0 {
			text = misfit.Error()
			continue
		}
		text += "; " + misfit.Error()
	}
	e := millrace.Errorf(millrace.ErrModel, "the loader feeds no signature of the model: %s", text)
	e.Loader = plan.Path
	return e
}

// adding is a loader's processing in a model's graph.
type adding struct {
	model   *graph.Model
	tensors []loaders.NamedOutput
	records tfbridge.Output
}

// tensor returns a tensor of the loader.
func (a *adding) tensor(name string) (tfbridge.Output, bool) {
	for _, t := range a.tensors {
		if t.Name == name {
			return t.Output, true
		}
	}
	return tfbridge.Output{}, false
}

// fits returns the reason why the loader does not give a signature's inputs, nil if it
// does.
func (a *adding) fits(sig tfbridge.Signature) error {
	if len(sig.Inputs) == 0 {
		return fmt.Errorf("it has no inputs")
	}
	for _, name := range slices.Sorted(maps.Keys(sig.Inputs)) {
		in := sig.Inputs[name]
		t, ok := a.tensor(name)
		switch {
		case !ok:
			return fmt.Errorf("the loader has no tensor %s", millrace.Quote(name))
		case t.DataType() != in.DType:
			return fmt.Errorf("%s: the loader gives %v, the signature takes %v", millrace.Quote(name), t.DataType(), in.DType)
		case !t.Shape().IsCompatibleWith(in.Shape):
			return fmt.Errorf("%s: the loader gives shape %v, the signature takes %v", millrace.Quote(name), t.Shape(), in.Shape)
		}
	}
	return nil
}

// add adds the signature of key with the loader in front of it.
func (a *adding) add(key, added string, sig tfbridge.Signature) error {
	def, err := fuse.GraphDef(a.model.Graph())
	if err != nil {
		return err
	}
	o := &fuse.Options{Feeds: map[fuse.TensorName]tfbridge.Output{}, Prefix: scope + "/" + added}
	for name, in := range sig.Inputs {
		o.Feeds[fuse.ParseTensorName(in.Name)], _ = a.tensor(name)
	}
	names := slices.Sorted(maps.Keys(sig.Outputs))
	for _, name := range names {
		o.Outputs = append(o.Outputs, fuse.ParseTensorName(sig.Outputs[name].Name))
	}
	fused, err := fuse.Copy(a.model.Graph(), def, o)
	if err != nil {
		return graph.ModelError("", key, err)
	}
	with := tfbridge.Signature{
		MethodName: sig.MethodName,
		Inputs:     map[string]tfbridge.TensorInfo{Input: {Name: a.records.String(), DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}},
		Outputs:    map[string]tfbridge.TensorInfo{},
	}
	for i, name := range names {
		info := sig.Outputs[name]
		info.Name = fused[i].String()
		with.Outputs[name] = info
	}
	return a.model.AddSignature(added, with)
}
