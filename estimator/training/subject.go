package training

import (
	"context"
	"iter"
	"sync"

	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/estimator/trainstep"
	"millrace/estimator/weights"
	"millrace/graph/steps"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// Joined is a signature of a model that was joined to data.
type Joined struct {
	Dir       string // the model's folder
	Signature *savedmodel.Signature
	Outputs   []string // names of what a step yields

	// Run makes steps, one for each batch of the data. Error converts an error of the
	// model's operations into one that names the model and its signature.
	Run   func(ctx context.Context, o *steps.Options) iter.Seq2[*steps.Batch, error]
	Error func(err error) error
}

// Subject is a model that was joined to the data of a training. Package estimator makes it. A
// program neither makes nor sees one.
type Subject struct {
	Joined
	Saved   *savedmodel.Model
	Graph   *tfbridge.Graph
	Session *tfbridge.Session
	Lock    *sync.RWMutex // guards the variables: each step holds it

	Step   *trainstep.Step       // nil: the signature changes the variables itself
	Slots  []checkpoint.Variable // the optimizer's variables
	Values *checkpoint.Values    // reads and sets the variables and the slots

	// Initialize sets the variables from Options.Init; see estimator.Model.Initialize.
	Initialize func(path string, o *weights.Options) (report []string, err error)

	Evaluator *Evaluator // nil: no evaluations
}

// readValues reads the variables while no step changes them.
func (s *Subject) readValues() ([]*tfbridge.Tensor, error) {
	s.Lock.RLock()
	defer s.Lock.RUnlock()
	return s.Values.Read()
}

// lower lowers the learning rate and returns it as it was and as it is.
func (s *Subject) lower() (before, after float32, err error) {
	if before, err = s.rate(); err == nil {
		err = s.run(s.Step.Update.Plateau.Reduce)
	}
	if err == nil {
		after, err = s.rate()
	}
	return before, after, err
}

// rate reads the learning rate.
func (s *Subject) rate() (float32, error) {
	out, err := s.Session.Run(nil, []tfbridge.Output{s.Step.Update.Plateau.Rate}, nil)
	if err != nil {
		return 0, err
	}
	defer out[0].Close()
	rate, _ := out[0].Value().(float32)
	return rate, nil
}

// run runs an operation that changes variables.
func (s *Subject) run(op *tfbridge.Operation) error {
	s.Lock.Lock()
	defer s.Lock.Unlock()
	_, err := s.Session.Run(nil, nil, []*tfbridge.Operation{op})
	return err
}

// averaged calls f while the moving averages of the variables, if the optimizer keeps
// them, are in the variables' place.
func (s *Subject) averaged(f func() error) error {
	if s.Step == nil || s.Step.Update.Exchange == nil {
		return f()
	}
	if err := s.run(s.Step.Update.Exchange); err != nil {
		return err
	}
	err := f()
	if again := s.run(s.Step.Update.Exchange); err == nil {
		err = again
	}
	return err
}

// averages returns the names of the slots with moving averages by the names of their
// variables in checkpoints; nil if there are none.
func (s *Subject) averages() (map[string]string, error) {
	if s.Step == nil || s.Step.Update.Exchange == nil {
		return nil, nil
	}
	slots := map[string]string{}
	for _, slot := range s.Step.Update.Slots {
		if slot.Kind == "average" {
			slots[slot.Of] = slot.Name
		}
	}
	byNode := map[string]string{}
	for i, v := range s.Step.Variables {
		byNode[v.Node] = slots[s.Step.Names[i]]
	}
	variables, err := checkpoint.Variables(s.Graph, s.Saved.Program())
	averages := map[string]string{}
	for _, v := range variables {
		node := v.Handle.Op.Name()
		if v.Wrapped.Op != nil {
			node = v.Wrapped.Op.Name()
		}
		if slot := byNode[node]; slot != "" {
			averages[v.Name] = slot
		}
	}
	return averages, err
}

// objectGraph returns the graph of Python's objects from the model's own
// checkpoint, "" if it has none. With it Python's tf.train.Checkpoint finds the
// variables in ours.
func (s *Subject) objectGraph() (string, error) {
	prefix, ok := s.Saved.Checkpoint()
	if !ok || !s.Saved.Objects() {
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
