package estimator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/loaders"
	"millrace/tfbridge"
)

// aheadBatches is how many steps are computed before they are asked for:
// enough for the model to work while the last results are written.
const aheadBatches = 2

// PredictOptions says what Predict yields. Nil means the signature's outputs.
type PredictOptions struct {
	Keep []string      // tensors of the loader to yield beside the outputs
	Scan *loaders.Scan // of the plan, where there is one already
}

// Predict runs the signature over all batches of a plan, in order. A batch
// holds the signature's outputs by name, then the kept tensors; the next ones
// are computed while the caller works on it. It is valid until the next
// iteration; call [loaders.Batch.Keep] to hold on to it. An error comes last
// and once.
func (m *Model) Predict(ctx context.Context, p *loaders.Plan, o *PredictOptions) iter.Seq2[*loaders.Batch, error] {
	if o == nil {
		o = &PredictOptions{}
	}
	return func(yield func(*loaders.Batch, error) bool) {
		pipe, fetch, err := m.join(ctx, p, o)
		if err != nil {
			yield(nil, err)
			return
		}
		run := pipe.Run(ctx, m.model.Session(), &loaders.RunOptions{Fetch: fetch, Ahead: aheadBatches})
		for b, err := range run {
			if err != nil {
				err = m.blame(err)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// join builds the plan's pipeline into the model's graph and the signature
// onto it.
func (m *Model) join(ctx context.Context, p *loaders.Plan, o *PredictOptions) (*loaders.Pipeline, []loaders.NamedOutput, error) {
	scan := o.Scan
	if scan == nil {
		var err error
		if scan, err = p.Scan(ctx); err != nil {
			return nil, nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined++
	prefix := fmt.Sprintf("millrace_%d", m.joined)
	pipe, err := loaders.Build(graph.NewScopeWithGraph(m.model.Graph()).SubScope(prefix), p, scan)
	if err != nil {
		return nil, nil, err
	}
	fetch, err := m.outputs(pipe, prefix+"/model")
	if err != nil {
		return nil, nil, err
	}
	kept, err := keep(pipe, o.Keep)
	return pipe, append(fetch, kept...), err
}

// outputs copies the signature with its inputs replaced by the pipeline's
// tensors.
func (m *Model) outputs(pipe *loaders.Pipeline, prefix string) ([]loaders.NamedOutput, error) {
	feeds := map[tensorName]tfbridge.Output{}
	for _, in := range m.signature.Inputs {
		t, ok := find(pipe, in.Name)
		if !ok {
			return nil, m.misfit(in.Name, "the loader has no tensor of this name: add a primary or secondary feature with it as to_name")
		}
		if got, want := t.Output.DataType(), in.DType; got != want {
			return nil, m.misfit(in.Name, "the loader gives %s, the signature takes %s", got, want)
		}
		if got := t.Output.Shape(); !got.IsCompatibleWith(in.Shape) {
			return nil, m.misfit(in.Name, "the loader gives shape %s, the signature takes %v", got, in.Shape)
		}
		feeds[parseTensorName(in.Node)] = t.Output
	}
	var targets []tensorName
	for _, out := range m.signature.Outputs {
		targets = append(targets, parseTensorName(out.Node))
	}
	fused, err := fuse(m.model.Graph(), feeds, targets, prefix)
	if err != nil {
		return nil, graph.ModelError(m.dir, m.signature.Name, err)
	}
	named := make([]loaders.NamedOutput, len(fused))
	for i, out := range m.signature.Outputs {
		named[i] = loaders.NamedOutput{Name: out.Name, Output: fused[i]}
	}
	return named, nil
}

// misfit is an error about an input of the signature.
func (m *Model) misfit(input, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrModel, format, args...)
	e.File, e.Signature, e.Tensor = m.dir, m.signature.Name, input
	return e
}

func find(pipe *loaders.Pipeline, name string) (loaders.NamedOutput, bool) {
	for _, t := range pipe.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	return loaders.NamedOutput{}, false
}

// keep finds the tensors that are yielded beside the outputs.
func keep(pipe *loaders.Pipeline, names []string) ([]loaders.NamedOutput, error) {
	var kept []loaders.NamedOutput
	for _, name := range names {
		t, ok := find(pipe, name)
		if !ok {
			return nil, millrace.Errorf(millrace.ErrConfig, "keep %q: the loader has no tensor of this name", name)
		}
		kept = append(kept, t)
	}
	return kept, nil
}

// blame tells a failure of the model from one of the data: the data's errors
// name a place, and TensorFlow names the iterator's node in those of the
// pipeline.
func (m *Model) blame(err error) error {
	var failed *tfbridge.Error
	var placed *millrace.Error
	if !errors.As(err, &failed) || strings.Contains(failed.Msg, "IteratorGetNext") {
		return err
	}
	if errors.As(err, &placed) && (placed.File != "" || placed.Tensor != "") {
		return err
	}
	return graph.ModelError(m.dir, m.signature.Name, failed)
}
