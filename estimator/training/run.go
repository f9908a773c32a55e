package training

import (
	"context"
	"math"

	"millrace"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// Run trains a subject in a folder. It checks the options and locks the folder, and
// then calls join to make the subject from the options with all defaults. evaluates
// says whether there is data for evaluations.
func Run(ctx context.Context, dir string, o *Options, evaluates bool, join func(o *Options) (*Subject, error)) (*Result, error) {
	if o == nil {
		o = &Options{}
	}
	t := &training{o: o.withDefaults(), dir: dir, peers: peers{o.Cluster, o.Fill}}
	defer t.close()
	result, err := train(ctx, t, evaluates, join)
	return result, t.peers.error(t.step, err)
}

// train is Run without what failures of other processes mean.
func train(ctx context.Context, t *training, evaluates bool, join func(o *Options) (*Subject, error)) (*Result, error) {
	if err := t.prepare(evaluates, join); err != nil {
		return nil, err
	}
	if err := t.restore(); err != nil {
		return nil, err
	}
	var err error
	if t.step, err = t.peers.begin(ctx, t.step, t.facts()); err != nil {
		return nil, err
	}
	if err := t.announce(); err != nil {
		return nil, err
	}
	if h := t.o.Hooks.Restored; h != nil {
		if err := h(t.step); err != nil {
			return nil, err
		}
	}
	return t.run(ctx)
}

// prepare checks the options, opens the folder and joins the model to the data.
func (t *training) prepare(evaluates bool, join func(o *Options) (*Subject, error)) (err error) {
	if err := t.o.check(evaluates); err != nil {
		return err
	}
	if !t.peers.follow() {
		if t.store, err = checkpoint.Open(t.dir); err != nil {
			return err
		}
	}
	if t.subject, err = join(t.o); err != nil {
		return err
	}
	if err := t.checkAllowed(); err != nil {
		return err
	}
	return t.prepareValues()
}

// prepareValues determines the contents of checkpoints.
func (t *training) prepareValues() (err error) {
	if t.averages, err = t.subject.averages(); err != nil {
		return err
	}
	if t.objects, err = t.subject.objectGraph(); err != nil {
		return err
	}
	t.fixed = append(t.subject.Values.Specs(),
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
	t.saver = newSaver(t.store, t.o.BeforeSave)
	// The first run of anything in a session takes tens of milliseconds. So make it
	// now: otherwise the first checkpoint would delay the steps.
	if t.peers.keeps() {
		return nil
	}
	read, err := t.subject.Values.Read()
	checkpoint.CloseTensors(read)
	if err == nil && bytesOf(t.subject.Values.Specs()) >= largeVariables {
		tfbridge.ReleaseMemory() // loading has left free memory in the heaps; the steps do not reuse all of it
	}
	return t.subject.Error(err)
}

// largeVariables is the number of bytes of variables from which on the memory that loading
// leaves is worth a collection of tens of milliseconds.
const largeVariables = 16 << 20

// bytesOf returns the number of bytes of tensors.
func bytesOf(specs []dtype.TensorSpec) (all int64) {
	for _, s := range specs {
		if _, bytes, err := dtype.ByteSize(s.DType, s.Shape.Dims()); err == nil {
			all += bytes
		}
	}
	return all
}

// announce reports the trained variables.
func (t *training) announce() error {
	if t.o.Objective == nil {
		return nil
	}
	trained, err := newTrained(t.subject, t.o.Objective.Variables)
	if err != nil || trained == nil {
		return err
	}
	for _, text := range trained.Notes {
		t.note(text)
	}
	if h := t.o.Hooks.Trains; h != nil {
		return h(trained)
	}
	return nil
}

// run makes the steps and the last checkpoint.
func (t *training) run(ctx context.Context) (*Result, error) {
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
