package dataset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/explain"
	"millrace/tfbridge"
)

// ExplainOptions are the options of [Dataset.Explain]. Nil means the zero value.
type ExplainOptions struct {
	Elements int64 // number of elements to read in a measured pass; 0: no pass; -1: all, for a dataset that ends
	Session  *tfbridge.SessionOptions
	Feeds    map[tfbridge.Output]*tfbridge.Tensor // values of the dataset's placeholders
}

// AllElements makes [Dataset.Explain] measure a pass to the end.
const AllElements = -1

// Explain describes d: as it was built, and as TensorFlow runs it after its rewrites, with
// the number of elements of each stage. With ExplainOptions.Elements it makes a pass, and
// each stage has its cost.
//
// The figures are those of tf.data's autotuner: a dataset with Options.NoAutotune has none.
// Measuring makes the pass slower. A stage that is reopened for each file or epoch is
// sampled, so its last elements may be missing.
//
// Explain runs in a separate session and adds operations to the graph. The constants of d
// become part of the serialized dataset: 2 GB of them are an error. It wraps
// DatasetToGraphV2, FinalizeDataset, DatasetCardinality and IteratorGetModelProto.
func (d *Dataset) Explain(ctx context.Context, o *ExplainOptions) (*explain.Dataset, error) {
	if ctx == nil {
		return nil, errNoContext("explain")
	}
	d = d.orNone()
	if o == nil {
		o = &ExplainOptions{}
	}
	d = d.In(d.scope.SubScope("explain"))
	built, run := d.serialized(), d.Finalize().serialized()
	var it *Iterator
	var model tfbridge.Output
	if o.Elements != 0 {
		it = d.Iterator("pass")
		model = d.scope.Op1("IteratorGetModelProto", nil, it.Resource)
	}
	if err := d.scope.Err(); err != nil {
		return nil, err
	}
	sess, err := tfbridge.NewSession(d.scope.Graph(), o.Session)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	defer sess.Close()
	e := &explain.Dataset{}
	for _, side := range []struct {
		stage      **explain.Stage
		serialized tfbridge.Output
	}{{&e.Built, built}, {&e.Run, run}} {
		if *side.stage, err = stages(ctx, sess, side.serialized, o.Feeds); err != nil {
			return nil, fmt.Errorf("explain: %w", err)
		}
	}
	if it != nil {
		if o.Elements < 0 && e.Run.Cardinality == InfiniteCardinality {
			return nil, millrace.Errorf(millrace.ErrModel, "explain: the dataset has no end, so there is no pass over all of it")
		}
		p := &measuredPass{it: it, model: model, session: sess, left: o.Elements}
		if err := p.run(ctx, o.Feeds); err != nil {
			return nil, fmt.Errorf("explain: %w", err)
		}
		e.Elements, e.Time = p.taken, p.time
		p.seen.Measure(e.Run)
	}
	return e, nil
}

// ignoreExternalState serializes a dataset whose functions keep state, such as variables.
// That is safe, since the result is never run.
const ignoreExternalState = 1

// serialized returns the dataset's graph, a serialized GraphDef.
func (d *Dataset) serialized() tfbridge.Output {
	return d.scope.Op1("DatasetToGraphV2", map[string]any{"external_state_policy": int64(ignoreExternalState), "strip_device_assignment": true}, d.variant)
}

// stages returns the stages of a serialized dataset, with their cardinalities.
func stages(ctx context.Context, sess *tfbridge.Session, serialized tfbridge.Output, feeds map[tfbridge.Output]*tfbridge.Tensor) (*explain.Stage, error) {
	def, err := fetchText(ctx, sess, serialized, feeds)
	if err != nil {
		return nil, err
	}
	g := tfbridge.NewGraph()
	defer g.Close()
	root, err := explain.Parse(def, g.OpDef)
	if err != nil {
		return nil, err
	}
	if g.Import(def, "") == nil {
		count(ctx, graph.NewScopeWithGraph(g), root)
	}
	return root, nil
}

// fetchText fetches a scalar string.
func fetchText(ctx context.Context, sess *tfbridge.Session, text tfbridge.Output, feeds map[tfbridge.Output]*tfbridge.Tensor) ([]byte, error) {
	out, err := sess.RunContext(ctx, feeds, []tfbridge.Output{text}, nil)
	if err != nil {
		return nil, err
	}
	defer out[0].Close()
	s, err := out[0].StringAt(0)
	return []byte(s), err
}

// count sets the cardinalities of the stages whose nodes are in a graph. A cardinality
// that cannot be computed stays unknown, for example if the dataset uses a table of
// another session.
func count(ctx context.Context, s *graph.Scope, root *explain.Stage) {
	var counted []*explain.Stage
	var counts []tfbridge.Output
	for _, stage := range root.All() {
		if op := s.Graph().Operation(stage.Node); op != nil && op.Type() == stage.Op {
			counted = append(counted, stage)
			counts = append(counts, s.Op1("DatasetCardinality", nil, op.Output(0)))
		}
	}
	if s.Err() != nil {
		return
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		return
	}
	defer sess.Close()
	for i, stage := range counted {
		out, err := sess.RunContext(ctx, nil, counts[i:i+1], nil)
		if err != nil {
			continue
		}
		stage.Cardinality, _ = out[0].Value().(int64)
		out[0].Close()
	}
}

// measuredPass reads elements and samples tf.data's model of the iterator.
type measuredPass struct {
	it      *Iterator
	model   tfbridge.Output
	session *tfbridge.Session
	left    int64 // negative: all
	taken   int64
	time    time.Duration // excludes the sampling
	seen    explain.Model
}

// A pass samples after each of the first elements, and later at these intervals at most.
const (
	firstLooks   = 64
	betweenLooks = 5 * time.Millisecond
)

// run makes the pass.
func (p *measuredPass) run(ctx context.Context, feeds map[tfbridge.Output]*tfbridge.Tensor) error {
	if _, err := p.session.RunContext(ctx, feeds, nil, []*tfbridge.Operation{p.it.Init}); err != nil {
		return err
	}
	next, err := p.session.Prepare(nil, p.it.Parts, nil)
	if err != nil {
		return err
	}
	looked := time.Now()
	for p.left < 0 || p.taken < p.left {
		start := time.Now()
		element, err := next.Run(ctx, nil)
		p.time += time.Since(start)
		if errors.Is(err, tfbridge.OutOfRange) {
			return nil
		}
		if err != nil {
			return nameRecord(p.session.Graph(), err)
		}
		for _, t := range element {
			t.Close()
		}
		p.taken++
		if p.taken > firstLooks && time.Since(looked) < betweenLooks {
			continue
		}
		if err := p.look(ctx); err != nil {
			return err
		}
		looked = time.Now()
	}
	return p.look(ctx)
}

// look adds a sample of the model.
func (p *measuredPass) look(ctx context.Context) error {
	model, err := fetchText(ctx, p.session, p.model, nil)
	if errors.Is(err, tfbridge.NotFound) || errors.Is(err, tfbridge.FailedPrecondition) {
		return millrace.Errorf(millrace.ErrModel, "nothing is measured: the dataset has Options.NoAutotune: %w", err)
	}
	if err != nil {
		return err
	}
	return p.seen.Add(model)
}
