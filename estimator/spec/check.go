package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"millrace"
	"millrace/diag"
	"millrace/estimator"
	"millrace/internal/base/jsonpos"
	"millrace/internal/base/regularfile"
	"millrace/loaders"
	"millrace/loaders/decl"
	loader "millrace/loaders/spec"
)

// Check reads a run config, its loaders and its model, and reports all problems in
// them. The run is nil if a problem is an error; warnings alone come with a run, which
// holds them too.
func Check(path string, o *Options) (*Run, diag.List) {
	c := &checker{run: &Run{Path: path}, report: &decl.Reporter{File: path, Class: millrace.ErrConfig, Limit: millrace.ErrLimit}}
	if o != nil {
		c.o = *o
		c.report.Further = loader.FurtherSteps(o.Steps)
	}
	if node := c.read(path); node != nil {
		c.run.Config = &Config{}
		c.report.Decode(node, c.run.Config)
		if node.Kind() == jsonpos.Object {
			c.optimizer()
			c.plateau()
			c.model()
			checkInit(c)
			c.loss()
			variables(c)
			c.loaders()
			c.metrics()
		}
	}
	problems := append(c.report.Finish(), c.others...)
	problems.Sort(path)
	if problems.HasErrors() {
		return nil, problems
	}
	c.run.Warnings = problems
	return c.run, problems
}

// read parses the run config.
func (c *checker) read(path string) *jsonpos.Node {
	data, err := regularfile.ReadFile(path, jsonpos.MaxBytes)
	if err != nil {
		class := millrace.ErrIO
		if errors.Is(err, millrace.ErrLimit) {
			class = millrace.ErrLimit
		}
		c.others = append(c.others, &diag.Diagnostic{File: path, Msg: fmt.Sprintf("read run config: %v", reason(err)), Class: class, Cause: err})
		return nil
	}
	node, err := jsonpos.Parse(data)
	var e *jsonpos.Error
	if !errors.As(err, &e) {
		return node
	}
	d := &diag.Diagnostic{File: path, Line: e.Line, Column: e.Column, Msg: e.Msg, Class: millrace.ErrConfig}
	if e.Limit {
		d.Class = millrace.ErrLimit
	}
	c.others = append(c.others, d)
	return nil
}

// model reads the model with the signatures of the run.
func (c *checker) model() {
	m := &c.run.Config.Model
	if m.At == nil || m.Bad("saved_model") {
		return
	}
	c.run.ModelDir = c.relative(m.SavedModel)
	checked, err := estimator.ReadModel(c.run.ModelDir, &estimator.ModelOptions{Signatures: c.signatures(), Runtime: c.o.Runtime, Session: c.o.Session, Observe: c.o.Observe})
	if err != nil {
		c.modelProblem(err)
		return
	}
	c.run.Model = checked
	c.train, _ = checked.Signature(m.TrainSignature())
	c.evaluate, _ = checked.Signature(m.EvaluateSignature())
}

// signatures returns the keys of the signatures that the run uses or names. A model
// that only trains has no others.
func (c *checker) signatures() []string {
	m := &c.run.Config.Model
	keys := []string{m.TrainSignature()}
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if c.run.Config.Evaluate != nil || m.Evaluate.Signature != "" {
		add(m.EvaluateSignature())
	}
	if m.Predict.Signature != "" {
		add(m.Predict.Signature)
	}
	return keys
}

// modelProblem reports a model that cannot be used at the key that names what is
// wrong with it.
func (c *checker) modelProblem(err error) {
	m := &c.run.Config.Model
	at := m.Key("saved_model")
	var e *millrace.Error
	if errors.As(err, &e) && e.Signature != "" {
		for _, named := range []struct {
			key  string
			used string
		}{{"train", m.TrainSignature()}, {"evaluate", m.Evaluate.Signature}, {"predict", m.PredictSignature()}} {
			if named.used == e.Signature {
				at = m.Key(named.key).Key("signature")
				break
			}
		}
	}
	d := c.report.Report(at, "%v", err)
	d.Cause = err
	if errors.As(err, &e) {
		d.Class = e.Class
	}
}

// loaders checks the loaders against the signatures that they feed.
func (c *checker) loaders() {
	config := c.run.Config
	seed := c.o.Seed
	if seed == nil {
		seed = config.Seed
	}
	if t := &config.Train; t.At != nil && !t.Bad("loader") {
		c.run.TrainPlan = c.loader(&t.Loader, c.names(config.Model.TrainSignature()), c.trainKeep(), seed, loader.ModeTrain)
		if p := c.run.TrainPlan; p != nil && p.Epochs == 0 && t.Steps == nil && config.Stop == nil {
			c.report.Warn(t.At, "the loader repeats its data without end, and neither train.steps nor stop ends the run: it goes on until a signal stops it")
		}
	}
	e := config.Evaluate
	if e == nil || e.At == nil || e.Bad("loader", "metrics") {
		return
	}
	c.run.EvaluatePlan = c.loader(&e.Loader, c.names(config.Model.EvaluateSignature()), c.evaluateKeep(), seed, loader.ModeEval)
	if p := c.run.EvaluatePlan; p != nil && p.Epochs == 0 && e.Steps == nil {
		d := c.report.Report(e.Key("loader"), "the loader repeats its data without end, so an evaluation would never end")
		d.Hint = "set the loader's args.epochs to 1, or evaluate.steps"
	}
}

// names returns the inputs and outputs of a signature, nil if it is unknown.
func (c *checker) names(signature string) *loaders.ModelNames {
	if c.run.Model == nil {
		return nil
	}
	names, err := c.run.Model.Names(signature)
	if err != nil {
		return nil
	}
	return names
}

// loader checks one loader. Its processing steps are carried out in a mode.
func (c *checker) loader(l *Loader, names *loaders.ModelNames, keep kept, seed *int64, mode string) *loaders.Plan {
	o := &loaders.CheckOptions{Model: names, Keep: keep.names, KeptFor: keep.by, Mode: mode, Seed: seed, Steps: c.o.Steps, Runtime: c.o.Runtime}
	var plan *loaders.Plan
	var problems diag.List
	if l.A != nil {
		plan, problems = loaders.Check(c.relative(*l.A), o)
	} else {
		plan, problems = loaders.CheckPart(c.report, l.B, o)
	}
	c.others = append(c.others, problems...)
	return plan
}

// evaluateKeep returns the tensors that the evaluation's loader must give
// beside the inputs of the signature.
func (c *checker) evaluateKeep() kept {
	e := c.run.Config.Evaluate
	var inputs, given []string
	if c.evaluate != nil {
		given = outputs(c.evaluate)
		for _, t := range c.evaluate.Inputs {
			inputs = append(inputs, t.Name)
		}
	}
	var keep kept
	add := func(by string, names ...string) {
		for _, name := range names {
			if !slices.Contains(given, name) && !slices.Contains(inputs, name) {
				keep.add(name, by)
			}
		}
	}
	for _, l := range c.run.Config.Model.Train.all() {
		if !slices.Contains(given, l.Predictions) {
			continue
		}
		add("the loss", l.Labels, l.Weights)
	}
	for _, m := range e.Metrics {
		add(fmt.Sprintf("metric %s of %s", decl.Quote(m.Name), filepath.Base(c.run.Path)), m.Labels, m.Predictions, m.Weights)
	}
	add("", e.Keep...)
	return keep
}

// trainKeep returns the tensors that the training's loader must give beside the
// inputs of the signature.
func (c *checker) trainKeep() kept {
	var keep kept
	for _, l := range c.run.Config.Model.Train.all() {
		for _, name := range []string{l.Labels, l.Weights} {
			if name != "" && !c.isInput(name) {
				keep.add(name, "the loss")
			}
		}
	}
	for _, name := range c.run.Config.Train.Keep {
		keep.add(name, "")
	}
	return keep
}
