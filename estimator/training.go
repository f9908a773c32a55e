package estimator

import (
	"context"
	"fmt"
	"math"

	"millrace"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/graph"
	"millrace/savedmodel"
)

// What happens when, in a training:
//
//	step k        one session run takes a batch and changes the variables
//	  loss        a loss that is not finite ends the training
//	  log         every LogEvery steps
//	  evaluate    every EvaluateEvery steps, with a pipeline of its own
//	  snapshot    every CheckpointEvery steps: the variables and the position in
//	              the data, both behind step k, are taken; nothing is written yet
//	step k+1      goes on while another goroutine writes the snapshot
//
// The step is made on demand, so between two steps nothing moves: neither the
// variables nor the input. A snapshot taken there is one moment of the training.

// training is one call of [TrainAndEvaluate].
type training struct {
	model *Model
	o     *TrainOptions
	dir   string

	pipe      *Pipeline
	evaluator *Evaluator // nil: no evaluations
	values    *checkpoint.Values
	store     *checkpoint.Store
	saver     *saver
	objects   string             // the graph of Python's objects, as the model's own checkpoint has it; "": none
	averages  map[string]string  // see checkpoint.Info
	fixed     []dtype.TensorSpec // what a checkpoint holds, in the order of snapshot
	unsaved   bool               // the source's position cannot be saved

	step      int64
	evaluated int64 // the step of the last evaluation
	warned    bool  // an evaluation had warnings
	state     trainState
	position  []byte // position in the data to continue from; nil: the start
	result    TrainResult
	clock     clock
}

// trainState is what a checkpoint keeps of a training beside the variables.
type trainState struct {
	Examples  int64              `json:"examples"`             // number of examples in all steps
	Saves     int64              `json:"saves"`                // checkpoints so far
	DataEnded bool               `json:"data_ended,omitempty"` // the source ended; there is no position
	Best      *bestState         `json:"best,omitempty"`       // best evaluation by TrainOptions.Best
	Stop      *bestState         `json:"stop,omitempty"`       // best evaluation by TrainOptions.Stop
	Plateau   *plateauState      `json:"plateau,omitempty"`    // evaluations by TrainOptions.Plateau
	Metrics   map[string]float64 `json:"metrics,omitempty"`    // finite metrics of the evaluation at this step
}

// prepare checks the options, joins the pipelines and opens the folder.
func (t *training) prepare(ctx context.Context, train, evaluate Source) (err error) {
	if err := t.o.check(evaluate); err != nil {
		return err
	}
	if t.store, err = checkpoint.Open(t.dir); err != nil {
		return err
	}
	if t.pipe, err = t.model.Join(ctx, train, &JoinOptions{Signature: t.o.Signature, Objective: t.o.Objective, arrival: true, gradients: t.o.Gradients}); err != nil {
		return err
	}
	if t.o.Objective != nil {
		t.o.Loss = LossOutput
	} else if err := t.pipe.checkTrains(t.o.Loss); err != nil {
		return err
	}
	if evaluate != nil {
		if t.evaluator, err = NewEvaluator(ctx, t.model, evaluate, t.o.Evaluate); err != nil {
			return err
		}
	}
	return t.prepareValues(ctx)
}

// prepareValues finds the variables, and prepares the operations that read and set them.
func (t *training) prepareValues(ctx context.Context) (err error) {
	if t.values, err = t.model.valuesWith(ctx, t.pipe.Slots()); err != nil {
		return err
	}
	if t.averages, err = averagesOf(t.pipe); err != nil {
		return err
	}
	if t.objects, err = t.model.objectGraph(); err != nil {
		return err
	}
	t.fixed = append(t.values.Specs(),
		dtype.TensorSpec{Name: positionName, DType: dtype.String, Shape: dtype.ScalarShape()},
		dtype.TensorSpec{Name: stepName, DType: dtype.Int64, Shape: dtype.ScalarShape()})
	if t.objects != "" {
		if t.objects, err = checkpoint.AddSaveCounter(t.objects); err != nil {
			return err
		}
		t.fixed = append(t.fixed,
			dtype.TensorSpec{Name: savedmodel.ObjectGraphKey, DType: dtype.String, Shape: dtype.ScalarShape()},
			dtype.TensorSpec{Name: checkpoint.SaveCounter, DType: dtype.Int64, Shape: dtype.ScalarShape()})
	}
	t.saver = newSaver(t.store)
	// The first run of anything in a session takes tens of milliseconds. Make it
	// now, and not when the first checkpoint holds up the steps.
	read, err := t.values.Read()
	closeTensors(read)
	return t.pipe.modelError(err)
}

// note passes a text for a person to the hooks.
func (t *training) note(text string) {
	if h := t.o.Hooks.Note; h != nil {
		h(text)
	}
}

// Names of what a checkpoint holds beside the variables.
const (
	stepName     = "millrace/step"  // int64: how many steps were made
	positionName = "millrace/input" // string: the position in the data; empty where it cannot be saved
)

// checkTrains refuses a signature that trains nothing or has no such loss.
func (p *Pipeline) checkTrains(loss string) error {
	at := func(format string, args ...any) error {
		e := millrace.Errorf(millrace.ErrModel, format, args...)
		e.File, e.Signature = p.model.dir, p.signature.Name
		return e
	}
	if !p.changes {
		return at("the signature changes no variable, so it trains nothing")
	}
	for _, out := range p.signature.Outputs {
		if out.Name != loss {
			continue
		}
		if out.DType != dtype.Float && out.DType != dtype.Double && out.DType != dtype.Half && out.DType != dtype.Bfloat16 {
			return at("the loss %q has dtype %s, not that of a real number", loss, out.DType)
		}
		if n := out.Shape.NumDimensions(); n > 0 {
			return at("the loss %q has shape %v; it must be a scalar", loss, out.Shape)
		}
		return nil
	}
	var names []string
	for _, out := range p.signature.Outputs {
		names = append(names, out.Name)
	}
	return at("there is no output %q to be the loss; the signature has %q", loss, names)
}

// close frees what the training made; the model stays.
func (t *training) close() {
	if t.saver != nil {
		t.saver.wait()
	}
	if t.store != nil {
		t.store.Close()
	}
}

// values returns the reader and writer of the model's variables, which the first call
// makes.
func (m *Model) values(ctx context.Context) (*checkpoint.Values, error) {
	if err := m.lockGraph(ctx); err != nil {
		return nil, err
	}
	defer m.unlockGraph()
	if m.access != nil {
		return m.access, nil
	}
	var err error
	m.access, err = m.newValues("millrace_checkpoint", nil)
	return m.access, err
}

// valuesWith is values with variables that are not the model's own.
func (m *Model) valuesWith(ctx context.Context, more []checkpoint.Variable) (*checkpoint.Values, error) {
	if len(more) == 0 {
		return m.values(ctx)
	}
	if err := m.lockGraph(ctx); err != nil {
		return nil, err
	}
	defer m.unlockGraph()
	return m.newValues(fmt.Sprintf("millrace_checkpoint_%d", m.joined), more)
}

// newValues adds the operations to the graph, which is locked.
func (m *Model) newValues(scope string, more []checkpoint.Variable) (*checkpoint.Values, error) {
	variables, err := checkpoint.Variables(m.model.Graph(), m.saved.Program())
	if err != nil {
		return nil, err
	}
	s := graph.NewScopeWithGraph(m.model.Graph()).SubScope(scope)
	return checkpoint.NewValues(s, m.model.Session(), append(variables, more...))
}

// objectGraph returns the graph of Python's objects from the model's own
// checkpoint, "" if it has none. With it Python's tf.train.Checkpoint finds the
// variables in ours.
func (m *Model) objectGraph() (string, error) {
	prefix, ok := m.saved.Checkpoint()
	if !ok || !m.saved.Objects() {
		return "", nil
	}
	spec := dtype.TensorSpec{Name: savedmodel.ObjectGraphKey, DType: dtype.String}
	read, err := checkpoint.ReadTensors(prefix, []dtype.TensorSpec{spec})
	if err != nil {
		return "", err
	}
	defer read[0].Close()
	return read[0].StringAt(0)
}

// run makes the steps and the last checkpoint.
func (t *training) run(ctx context.Context) (*TrainResult, error) {
	t.result.Loss = math.NaN()
	err := t.loop(ctx)
	if err == nil {
		err = t.finish(context.WithoutCancel(ctx))
	}
	t.result.Step, t.result.Steps = t.step, t.clock.total.Steps
	t.result.Examples, t.result.Duration, t.result.InputWait = t.clock.total.Examples, t.clock.total.Duration, t.clock.total.InputWait
	if err == nil && t.result.Reason == EndedByContext {
		err = millrace.Canceled(ctx, "training")
	}
	return &t.result, err
}
