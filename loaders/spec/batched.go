package spec

import (
	"errors"
	"slices"

	"millrace"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/loaders/processing/batches"
	"millrace/loaders/processing/catalog"
	"millrace/loaders/processing/models"
	"millrace/savedmodel"
)

// # Steps behind batching
//
// The question: a model that is called per batch must see the rows that a run delivers, padded. The other
// steps see examples, before they are padded, and some must see one at a time.
//
// The answer: the first such model ends the steps on examples. Batches are made of the tensors that
// there are then ([Spec.Unbatched]), and the steps from the model on are carried out on them. They
// are checked after padding, with the shapes that the tensors have in a batch.

// seesBatches reports whether a step of the config is the first one behind batching.
func seesBatches(s *StepConfig) bool {
	args, ok := s.Args.(*models.SavedModelArgs)
	return ok && s.At != nil && args.At != nil && !args.Bad("per") && args.OfBatches()
}

// batchedPart checks the steps that see batches.
type batchedPart struct{ *checker }

// steps checks the processing steps from the first one that sees batches on.
func (c batchedPart) steps() {
	if c.batchedFrom < 0 {
		return
	}
	c.enter()
	for i := c.batchedFrom; i < len(c.args.ProcessingSteps); i++ {
		stepPart(c).config(i)
	}
}

// enter records the tensors of the examples. From there on tensors have the shapes of a batch.
func (c batchedPart) enter() {
	if c.batched {
		return
	}
	c.batched = true
	c.spec.Unbatched = &Unbatched{Padding: c.spec.Padding}
	for _, t := range c.tensors {
		c.spec.Unbatched.Tensors = append(c.spec.Unbatched.Tensors, t.TensorSpec)
	}
	for _, t := range c.tensors {
		t.Shape = slices.Clone(c.batchedShape(t))
	}
	c.spec.Padding = nil
}

// leave describes the tensors that batches have in the end. Nothing pads them any more.
func (c batchedPart) leave() {
	if !c.batched || c.spec.Unbatched.Padding == nil {
		return
	}
	for _, t := range c.tensors {
		c.spec.Padding = append(c.spec.Padding, Pad{Tensor: t.Name, Shape: slices.Clone(t.Shape), Value: ZeroValue(t.DType)})
	}
}

// model checks a savedmodel of the batch steps. number is its place among all steps.
func (c batchedPart) model(number int, s *batches.BatchStepConfig) {
	args, ok := s.Args.(*models.SavedModelArgs)
	switch {
	case !ok || args.At == nil:
		return
	case s.Has("tensors"):
		c.inConfig.Report(s.Key("tensors"), "%s names its tensors in args; remove tensors", s.Type)
		return
	case !args.Bad("per") && !args.OfBatches():
		c.inConfig.Report(args.Key("per"), "batch_steps are called with whole batches").Hint = "a processing step can be called with one example"
		return
	}
	c.enter()
	k := slices.IndexFunc(catalog.Types, func(t processing.Type) bool { return t.Name == s.Type })
	stepPart(c).step(number, &StepConfig{Object: s.Object, Type: s.Type, Args: s.Args}, &catalog.Types[k])
}

// add adds a step behind batching. It reports one that cannot work on batches.
func (c batchedPart) add(s *StepConfig, made Step) {
	made.After = len(c.spec.BatchSteps)
	_, several := s.Args.(*models.SavedModelArgs)
	first := decl.Quote("savedmodel")
	var why string
	switch {
	case several && !seesBatches(s):
		why = "is called with one example"
	case several:
	case made.Random:
		why = "draws for each example"
	case made.Filters():
		why = "keeps single examples"
	case !made.Batchable() || made.MakesRows():
		why = "works on one example at a time"
	}
	if why != "" {
		c.inConfig.Report(s.At, "%s %s, and stands after a %s that is called with whole batches", made.Type, why, first).Hint =
			`move it before the model, or call the model with "per": "example"`
		return
	}
	c.spec.BatchedSteps = append(c.spec.BatchedSteps, made)
}

// readModel reads and checks the SavedModel that an argument names.
func (c *checker) readModel(at *jsonpos.Node, dir string) *savedmodel.Model {
	path := c.disk.resolve(dir)
	if _, err := c.disk.stat(path); err != nil {
		c.unreadable(at, "read the model", dir, err)
		return nil
	}
	m, err := savedmodel.Read(path, &savedmodel.Options{SkipTensorChecksums: true})
	if err != nil {
		d := c.inConfig.Report(at, "%s", models.Reason(err))
		d.Class, d.Cause = classOf(err), err
		var e *millrace.Error
		if errors.As(err, &e) {
			d.Class = e.Class
		}
		return nil
	}
	return m
}
