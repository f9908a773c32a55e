package estimator

import (
	"context"
	"fmt"
	"slices"

	"millrace"
	"millrace/estimator/training"
	"millrace/estimator/trainstep"
	"millrace/graph"
	"millrace/graph/fuse"
	"millrace/graph/steps"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// JoinOptions says which signature to join to a source and which tensors to
// yield. Nil and the zero value mean the outputs of the model's first
// signature.
type JoinOptions struct {
	Signature string   // key of the signature; "": the first of ModelOptions.Signatures
	Outputs   []string // names of the outputs to compute; nil: all that can be fetched
	Keep      []string // tensors of the source to yield besides the outputs

	// Objective trains a signature that changes no variable by itself. The outputs
	// are then the loss and the learning rate, and those that Outputs names. Nil: the
	// signature runs as it is.
	Objective *Objective

	evaluated *Objective         // whose loss is another output, LossOutput; nil: none
	replica   *trainstep.Replica // this process among those that train together; nil: it trains alone
	servers   *trainstep.Servers // parameter servers that hold the variables; nil: there are none
	keep      bool               // the servers have values of the optimizer's variables already
	arrival   bool               // also yield when the batch arrived, see training.AddArrival
	gradients bool               // also yield the gradients of Objective, under training.GradientsPrefix
}

// Pipeline is a source joined to a signature in the model's graph: each step
// takes a batch of the source and computes the signature's outputs. It lives as
// long as the model. Only one run of a pipeline at a time may be ranged over.
type Pipeline struct {
	model      *Model
	signature  *savedmodel.Signature
	outputs    []savedmodel.Tensor // outputs that a step computes
	input      *steps.Pipeline
	gate       *steps.Gate
	fetch      []steps.NamedOutput
	changes    bool            // a step changes variables
	collective int64           // see steps.Options.CollectiveKey
	step       *trainstep.Step // training step of an Objective; nil without one
}

// Join adds a source to the model's graph and joins a signature to it: it
// copies the signature's operations, with the source's tensors in the place of
// the inputs. The copy shares variables and tables with the model. Join first
// checks that names, dtypes and shapes match.
//
// The operations stay in the graph until the model is closed. To run over the
// same data again, run the pipeline again instead of joining again.
func (m *Model) Join(ctx context.Context, src Source, o *JoinOptions) (*Pipeline, error) {
	if o == nil {
		o = &JoinOptions{}
	}
	if src == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "the source is nil")
	}
	signature, err := m.Signature(o.Signature)
	if err != nil {
		return nil, err
	}
	outputs, err := m.Outputs(o.Signature, o.Outputs)
	if err != nil {
		return nil, err
	}
	if err := m.lockGraph(ctx); err != nil {
		return nil, err
	}
	defer m.unlockGraph()
	m.joined++
	scope := graph.NewScopeWithGraph(m.model.Graph()).SubScope(fmt.Sprintf("millrace_%d", m.joined))
	p := &Pipeline{model: m, signature: signature, outputs: outputs}
	if p.input, err = src.Pipeline(ctx, scope); err != nil {
		return nil, err
	}
	kept, err := p.kept(o.Keep)
	if err != nil {
		return nil, err
	}
	join := p.joinSignature
	if o.Objective != nil {
		join = func(s *graph.Scope) error { return p.joinObjective(s, o) }
	}
	if err := join(scope); err != nil {
		return nil, err
	}
	if err := p.addLoss(scope, o.evaluated); err != nil {
		return nil, err
	}
	p.fetch = append(p.fetch, kept...)
	if o.gradients {
		if err := p.addGradients(); err != nil {
			return nil, err
		}
	}
	if o.arrival {
		p.fetch = append(p.fetch, training.AddArrival(scope, p.gate.Tensors[0].Output.Op))
		return p, scope.Err()
	}
	return p, nil
}

// joinSignature copies the signature, with a gate before its inputs.
func (p *Pipeline) joinSignature(s *graph.Scope) error {
	inputs, err := p.inputs()
	if err != nil {
		return err
	}
	gate := inputs
	if len(gate) == 0 {
		gate = p.input.Tensors()[:1] // the signature has no inputs; the gate still counts the steps
	}
	p.gate = steps.NewGate(s, gate)
	if err := s.Err(); err != nil {
		return graph.ModelError(p.model.dir, p.signature.Name, err)
	}
	feeds := map[fuse.TensorName]tfbridge.Output{}
	for i := range inputs {
		feeds[fuse.ParseTensorName(p.signature.Inputs[i].Node)] = p.gate.Tensors[i].Output
	}
	var targets []fuse.TensorName
	for _, out := range p.outputs {
		targets = append(targets, fuse.ParseTensorName(out.Node))
	}
	g := p.model.model.Graph()
	def, err := fuse.GraphDef(g)
	if err != nil {
		return err
	}
	copied := &fuse.Options{Feeds: feeds, Outputs: targets, Prefix: s.Prefix() + "model"}
	if copied.Changing = fuse.Changing(g, def, targets); len(copied.Changing) > 0 {
		p.changes, copied.After = true, p.gate.Tensors[0].Output.Op
	}
	fused, err := fuse.Copy(g, def, copied)
	if err != nil {
		return graph.ModelError(p.model.dir, p.signature.Name, err)
	}
	for i, out := range p.outputs {
		p.fetch = append(p.fetch, steps.NamedOutput{Name: out.Name, Output: fused[i]})
	}
	return nil
}

// inputs returns the source's tensors for the signature's inputs, in the order
// of the inputs.
func (p *Pipeline) inputs() ([]steps.NamedOutput, error) {
	var inputs []steps.NamedOutput
	for _, in := range p.signature.Inputs {
		t, ok := p.input.Tensor(in.Name)
		if !ok {
			return nil, p.misfit(in.Name, "the source has no tensor of this name; in a loader, add a primary or secondary feature with it as to_name")
		}
		if got, want := t.Output.DataType(), in.DType; got != want {
			return nil, p.misfit(in.Name, "the source gives %s, the signature takes %s", got, want)
		}
		if got := t.Output.Shape(); !got.IsCompatibleWith(in.Shape) {
			return nil, p.misfit(in.Name, "the source gives shape %s, the signature takes %v", got, in.Shape)
		}
		inputs = append(inputs, t)
	}
	return inputs, nil
}

// misfit is an error about an input of the signature.
func (p *Pipeline) misfit(input, format string, args ...any) error {
	return tensorError(p.model.dir, p.signature, input, format, args...)
}

// kept returns the source's tensors to yield besides the outputs.
func (p *Pipeline) kept(names []string) ([]steps.NamedOutput, error) {
	var kept []steps.NamedOutput
	for i, name := range names {
		t, ok := p.input.Tensor(name)
		output := slices.ContainsFunc(p.outputs, func(t savedmodel.Tensor) bool { return t.Name == name })
		switch {
		case !ok:
			return nil, millrace.Errorf(millrace.ErrConfig, "keep %q: the source has no tensor of this name", name)
		case output:
			return nil, millrace.Errorf(millrace.ErrConfig, "keep %q: the signature has an output of this name", name)
		case slices.Contains(names[:i], name):
			return nil, millrace.Errorf(millrace.ErrConfig, "keep %q: given twice", name)
		}
		kept = append(kept, t)
	}
	return kept, nil
}
