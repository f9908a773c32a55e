package spec

import (
	"slices"

	"millrace"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/loaders/processing/catalog"
)

// StepConfig is one entry of "processing_steps": what is done to a tensor.
type StepConfig struct {
	decl.Object
	Tensor  string   `json:"tensor" decl:"label=tensor" doc:"The tensor that the step reads, and overwrites unless to_name is given. A few types read none, or several: they have tensors."`
	Tensors []string `json:"tensors" decl:"nonempty,most=1024" doc:"The tensors that a step reads, in an order, where its type reads several."`
	ToName  string   `json:"to_name" decl:"nonempty" doc:"The tensor that the step writes. A name that is not there yet is a new tensor. The default is the tensor that it reads."`
	When    string   `json:"when" decl:"enum=always|train|eval" doc:"In which mode the step is carried out. The default is always, and train for a step that draws random numbers."`
	Type    string   `json:"type" decl:"required" doc:"What the step does."`
	Args    any      `json:"args" decl:"variant=type" doc:"The arguments; type says which there are."`
}

// Variants lists the arguments of each type of processing step.
func (*StepConfig) Variants(string) []decl.Variant {
	return stepVariants(catalog.Types)
}

// stepVariants returns the arguments of types of processing steps.
func stepVariants(types []processing.Type) []decl.Variant {
	variants := make([]decl.Variant, len(types))
	for i, t := range types {
		variants[i] = decl.Variant{Name: t.Name, Doc: t.Doc, New: func() any { return t.Args() }}
	}
	return variants
}

// FurtherSteps returns the Further of a reporter that reads loader configs with own types of processing
// steps. It returns nil if there are none.
func FurtherSteps(own []processing.Type) func(v any, key string) []decl.Variant {
	if len(own) == 0 {
		return nil
	}
	return func(v any, _ string) []decl.Variant {
		if _, ok := v.(*StepConfig); ok {
			return stepVariants(own)
		}
		return nil
	}
}

// StepsRefuse reports whether a processing step may fail on a record. Steps of windows and chunks
// see no records.
func StepsRefuse(s *Spec) bool {
	return s.Window == nil && s.Chunks == nil && slices.ContainsFunc(s.Steps, func(x Step) bool {
		r, ok := x.Action.(interface{ Refuses() bool })
		return !x.Batchable() || x.MakesRows() || ok && r.Refuses()
	})
}

// SourceOf returns the tensor that the step with an index in the config reads first, and the feature
// that it is made of, "" if there is none.
func SourceOf(s *Spec, index int) (feature, tensor string) {
	for i := len(s.Steps) - 1; i >= 0; i-- {
		x := s.Steps[i]
		switch {
		case len(x.Reads) == 0:
		case x.Index == index:
			tensor, feature = x.Reads[0], x.Reads[0]
		case x.Index < index && x.Writes == feature:
			feature = x.Reads[0]
		}
	}
	for _, primary := range s.Primaries {
		if primary.To == feature {
			return primary.From.Name, tensor
		}
	}
	return "", tensor
}

// Filters reports whether a processing step keeps some of the examples.
func (s *Spec) Filters() bool { return slices.ContainsFunc(s.Steps, Step.Filters) }

// Draws reports whether a processing step draws random numbers.
func (s *Spec) Draws() bool {
	return len(s.BatchSteps) > 0 || slices.ContainsFunc(s.Steps, func(x Step) bool { return x.Random })
}

// The modes of a plan: its data are for training, or for evaluation.
const (
	ModeTrain = "train"
	ModeEval  = "eval"
)

// stepPart checks the processing steps.
type stepPart struct{ *checker }

// steps applies the processing steps to what is known of the tensors.
func (c stepPart) steps() {
	for i := range c.args.ProcessingSteps {
		if seesBatches(&c.args.ProcessingSteps[i]) {
			c.batchedFrom = i // [batchedPart.steps] continues there
			break
		}
		c.config(i)
	}
	c.draws()
}

// config checks a step of the config.
func (c stepPart) config(i int) {
	s := &c.args.ProcessingSteps[i]
	if s.At == nil {
		return
	}
	for _, types := range [][]processing.Type{catalog.Types, c.o.Steps} {
		k := slices.IndexFunc(types, func(t processing.Type) bool { return t.Name == s.Type })
		if k >= 0 && !s.Bad("type") {
			c.step(i, s, &types[k])
			return
		}
	}
	c.guess(s)
}

// draws reports keys under which the examples have no epoch or no position, from which random
// numbers follow.
func (c stepPart) draws() {
	switch {
	case !c.spec.Draws():
	case c.spec.BadRecords != nil && c.spec.Records != nil:
		c.inConfig.Report(c.args.Key("bad_records"), "records that are read by their positions cannot be skipped where a step draws random numbers").Hint = "shuffle with buffers, and remove range and shard"
	}
}

// guess checks a step whose type is wrong as far as it can.
func (c stepPart) guess(s *StepConfig) {
	for i, in := range c.inputs(s, &processing.Type{Reads: processing.Any}) {
		if in != nil && i == 0 && !s.Has("to_name") {
			in.shaped = false // the result of a broken step is unknown
		}
	}
	if args, ok := s.Args.(processing.Args); ok {
		args.Check(c.context(s, nil))
	}
}

// step checks one step.
func (c stepPart) step(index int, s *StepConfig, t *processing.Type) {
	inputs := c.inputs(s, t)
	args, ok := s.Args.(processing.Args)
	if !ok {
		return
	}
	if t.Filters && c.spec.Chunks != nil {
		c.inConfig.Report(s.At, "a chunked_sequence has no filter: its rows are cut from sequences one after the other").Hint = "use a loader of type independent, or filter the records when they are written"
	}
	if !c.carriedOut(s, t) {
		args.Check(c.context(s, []*tensorState{nil})) // the tensors of the other mode are not known
		return
	}
	step := args.Check(c.context(s, inputs))
	if w, ok := args.(processing.Writing); ok {
		c.several(Step{Type: t.Name, Index: index}, s, step, w, inputs)
		return
	}
	to := c.writes(s, t, inputs)
	if step == nil && !t.Drops {
		for _, name := range to {
			c.spoil(s, name)
		}
		return
	}
	if len(to) == 0 && !t.Drops && !t.Filters {
		return // its name is missing, which was reported
	}
	made := Step{Action: step, Type: t.Name, Index: index, Random: t.Random, Decodes: t.Decodes}
	for _, in := range inputs {
		if in == nil {
			return
		}
		made.Reads, made.In = append(made.Reads, in.Name), append(made.In, in.TensorSpec)
	}
	for _, name := range to {
		made.Writes = name
		c.write(s, made, inputs)
	}
	c.drop(&made, t, inputs)
	c.add(s, made)
}

// several adds the steps that write the tensors of one step of the config.
func (c stepPart) several(made Step, s *StepConfig, step processing.Step, args processing.Writing, inputs []*tensorState) {
	if s.Has("to_name") {
		c.inConfig.Report(s.Key("to_name"), "%s names the tensors that it writes in args; remove to_name", s.Type)
	}
	several, ok := step.(processing.MultiOutput)
	if !ok {
		for _, to := range args.Writes() {
			c.spoil(s, to.Name)
		}
		return
	}
	for _, in := range inputs {
		made.Reads, made.In = append(made.Reads, in.Name), append(made.In, in.TensorSpec)
	}
	for _, each := range several.Each() {
		if !c.writable(each.To.At, each.To.Name) {
			continue
		}
		made.Action, made.Writes = each.Step, each.To.Name
		c.write(s, made, inputs)
		c.add(s, made)
	}
}

// writable reports a tensor that no step may write, and returns false.
func (c stepPart) writable(at *jsonpos.Node, name string) bool {
	if old := c.byName[name]; old != nil && old.measure != nil {
		c.inConfig.Report(at, "%s is made after the processing steps", decl.Quote(name))
		return false
	}
	return true
}

// add adds a checked step to the plan.
func (c stepPart) add(s *StepConfig, made Step) {
	if c.batched {
		batchedPart(c).add(s, made)
		return
	}
	c.spec.Steps = append(c.spec.Steps, made)
}

// carriedOut reports whether the step applies in the mode of the plan.
func (c stepPart) carriedOut(s *StepConfig, t *processing.Type) bool {
	when := s.When
	if when == "" && t.Random {
		when = ModeTrain
	}
	return when == "" || when == "always" || when == c.mode()
}

// mode returns the mode that the options or the config set.
func (c *checker) mode() string {
	switch {
	case c.o.Mode != "":
		return c.o.Mode
	case c.args.Mode != "":
		return c.args.Mode
	}
	return ModeTrain
}

// inputs returns the tensors that a step reads, with nil for a missing one. It reports
// keys that the step's type does not have.
func (c stepPart) inputs(s *StepConfig, t *processing.Type) (list []*tensorState) {
	one, several := s.Has("tensor"), s.Has("tensors")
	switch {
	case t.Filters && (one || several):
		c.inConfig.Report(s.At, "%s names its tensors in args.conditions; remove tensor and tensors", t.Name)
		return nil
	case t.Reads == processing.None && (one || several) && namesTensors(s):
		c.inConfig.Report(s.At, "%s names its tensors in args; remove tensor and tensors", t.Name)
		return nil
	case t.Reads == processing.None && (one || several):
		c.inConfig.Report(s.At, "%s reads no tensor; remove tensor and tensors", t.Name)
		return nil
	case t.Reads == processing.None:
		return c.namedInArgs(s)
	case one && several:
		c.inConfig.Report(s.Key("tensors"), "must not stand beside tensor")
		return nil
	case t.Reads == processing.Several && one:
		c.inConfig.Report(s.Key("tensor"), "%s reads several tensors: name them in the list tensors", t.Name)
		return []*tensorState{nil}
	case t.Reads == processing.One && several:
		c.inConfig.Report(s.Key("tensors"), "%s reads one tensor: name it with tensor", t.Name)
		return []*tensorState{nil}
	case !one && !several && t.Reads == processing.Several:
		c.inConfig.Report(s.At, "missing key \"tensors\"")
		return []*tensorState{nil}
	case !one && !several:
		c.inConfig.Report(s.At, "missing key \"tensor\"")
		return []*tensorState{nil}
	}
	if one {
		if s.Bad("tensor") {
			return []*tensorState{nil}
		}
		return []*tensorState{c.readable(s.Key("tensor"), s.Tensor)}
	}
	if s.Bad("tensors") {
		return []*tensorState{nil}
	}
	for i, name := range s.Tensors {
		list = append(list, c.readable(s.Key("tensors").Elem(i), name))
	}
	return list
}

// namesTensors reports whether the arguments of a step name the tensors that it reads.
func namesTensors(s *StepConfig) bool { _, ok := s.Args.(processing.Reading); return ok }

// namedInArgs returns the tensors that the arguments of a step name.
func (c stepPart) namedInArgs(s *StepConfig) (list []*tensorState) {
	named, ok := s.Args.(processing.Reading)
	if !ok {
		return nil
	}
	for _, x := range named.Tensors() {
		if x.At == nil {
			list = append(list, nil)
			continue
		}
		list = append(list, c.readable(x.At, x.Name))
	}
	return list
}

// readable returns the tensor of a name if a step may read it. Otherwise it reports a
// problem and returns nil.
func (c stepPart) readable(at *jsonpos.Node, name string) *tensorState {
	t := c.tensor(at, name)
	if t != nil && t.measure != nil && !c.batched {
		c.inConfig.Report(at, "%s is made after the processing steps", decl.Quote(t.Name))
		return nil
	}
	return t
}

// context returns what the arguments of a step are checked with.
func (c stepPart) context(s *StepConfig, inputs []*tensorState) *processing.Context {
	x := &processing.Context{Type: s.Type, Reporter: c.inConfig, Entry: s.At, Known: true, Read: c.readArg, Model: c.readModel, Rows: c.spec.BatchRows()}
	for _, t := range inputs {
		if t == nil || !t.typed || !t.shaped {
			x.Known = false
			x.In = append(x.In, processing.Input{})
			continue
		}
		x.In = append(x.In, processing.Input{Tensor: t.TensorSpec, Sequence: t.sequence})
	}
	return x
}

// readArg reads a file that an argument names.
func (c stepPart) readArg(at *jsonpos.Node, path string, limit int64) ([]byte, bool) {
	data, err := c.disk.read(c.disk.resolve(path), limit)
	if err != nil {
		c.unreadable(at, "read", path, err)
		return nil, false
	}
	if int64(len(data)) > limit {
		c.inConfig.Report(at, "%s has more than %d bytes", millrace.Quote(path), limit).Class = millrace.ErrLimit
		return nil, false
	}
	return data, true
}

// writes returns the name of the tensor that the step writes: one, or none.
func (c stepPart) writes(s *StepConfig, t *processing.Type, inputs []*tensorState) []string {
	switch {
	case t.Drops, t.Filters:
		if s.Has("to_name") {
			c.inConfig.Report(s.Key("to_name"), "%s writes no tensor", t.Name)
		}
		return nil
	case s.Bad("to_name"):
		return nil
	case s.Has("to_name"):
		if !c.writable(s.Key("to_name"), s.ToName) {
			return nil
		}
		return []string{s.ToName}
	case t.Reads == processing.None || t.Reads == processing.Several || len(inputs) > 1 || t.Named:
		c.inConfig.Report(s.At, "missing key \"to_name\"")
		return nil
	case inputs[0] == nil:
		return nil
	}
	return []string{inputs[0].Name}
}

// spoil marks everything about a tensor as unknown.
func (c stepPart) spoil(s *StepConfig, name string) {
	t := c.byName[name]
	if t == nil {
		t = c.newTensor(s, name)
	}
	t.shaped, t.typed = false, t.typed && c.unchangedType(s)
}

// unchangedType reports whether a broken step leaves the data type of its tensor.
func (c stepPart) unchangedType(s *StepConfig) bool { return s.Type == "slice" }

// newTensor adds a tensor that a step makes.
func (c stepPart) newTensor(s *StepConfig, name string) *tensorState {
	t := &tensorState{TensorSpec: TensorSpec{Name: name, Shape: []int64{}}, index: len(c.tensors), at: s.At}
	c.byName[name] = t
	c.tensors = append(c.tensors, t)
	return t
}

// write makes the tensor that a step writes, or changes it.
func (c stepPart) write(s *StepConfig, made Step, inputs []*tensorState) {
	t := c.byName[made.Writes]
	if t == nil {
		t = c.newTensor(s, made.Writes)
	}
	sequence := t.sequence
	if len(inputs) > 0 && inputs[0] != t {
		sequence = inputs[0].sequence
	}
	t.TensorSpec, t.typed, t.shaped, t.sequence = made.Result(), true, true, sequence && len(made.Result().Shape) > 0
	if sequence && !t.sequence {
		c.inConfig.Report(s.At, "%s takes away the time axis of the sequence %s", made.Type, decl.Quote(t.Name))
	}
}

// drop removes the tensors that a step consumes.
func (c stepPart) drop(made *Step, t *processing.Type, inputs []*tensorState) {
	for _, in := range inputs {
		if t.Drops || t.Moves && in.Name != made.Writes {
			made.Drops = append(made.Drops, in.Name)
			delete(c.byName, in.Name)
		}
	}
	c.tensors = slices.DeleteFunc(c.tensors, func(x *tensorState) bool { return slices.Contains(made.Drops, x.Name) })
	for i, x := range c.tensors {
		x.index = i
	}
	if len(made.Drops) > 0 {
		if c.dropped == nil {
			c.dropped = map[string]string{}
		}
		for _, name := range made.Drops {
			c.dropped[name] = made.Type
		}
	}
}
