package loaders

import (
	"millrace/diag"
	"millrace/graph/dataset/native"
	"millrace/loaders/decl"
	"millrace/loaders/plan"
	"millrace/loaders/processing"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// CheckOptions holds the options of [Check]. Nil means the defaults.
type CheckOptions struct {
	Model       *ModelNames        // the model to feed; nil: none, and no model's rules are checked
	Keep        []string           // tensors that the config must provide beside the model's inputs, such as labels
	KeptFor     map[string]string  // what needs a tensor of Keep, for messages: "the loss"; may be nil
	Replace     []spec.Replacement // take the place of the config's arguments; CheckPart ignores them
	Mode        string             // spec.ModeTrain or spec.ModeEval: which processing steps are carried out; "": what the config says
	Seed        *int64             // replaces the config's seed; nil: the config's, or else a fresh one
	Root        string             // the folder in which all paths must stay; "": any path
	MemoryLimit int64              // bytes that the buffers of the pipeline may hold; 0: not checked

	// Steps are the program's types of processing steps. A name that Millrace has keeps its
	// meaning. Configs use them like Millrace's: see [processing.Type]. [CheckPart] needs them in its reporter as
	// well: see [spec.FurtherSteps].
	Steps []processing.Type

	CheckRecords bool   // see [plan.Plan.CheckRecords]
	Quarantine   string // see [plan.Plan.Quarantine]
	ManifestOnly bool   // the data files may be missing; see [spec.Options.ManifestOnly]. Only [BuildProcessing] takes such a plan

	Runtime *tfbridge.RuntimeOptions // where the plan will run, to find the library of Millrace's own operations
}

// Check reads a loader config, its manifest and its list of files, reports all problems
// in them at once, in file order, and plans how to run the config. The plan is nil if a
// problem is an error. If all problems are warnings there is a plan, which holds them
// too. Check looks at the sizes of data files but does not read them, and needs no
// TensorFlow.
func Check(path string, o *CheckOptions) (*Plan, diag.List) {
	if o == nil {
		o = &CheckOptions{}
	}
	s, problems := spec.Check(path, o.spec())
	return o.plan(s), problems
}

// CheckPart is [Check] for a loader config that is a part of another file; see
// [spec.CheckPart].
func CheckPart(r *decl.Reporter, config *spec.Config, o *CheckOptions) (*Plan, diag.List) {
	if o == nil {
		o = &CheckOptions{}
	}
	s, problems := spec.CheckPart(r, config, o.spec())
	return o.plan(s), problems
}

// spec returns the options for package spec.
func (o *CheckOptions) spec() *spec.Options {
	return &spec.Options{Model: o.Model, Keep: o.Keep, KeptFor: o.KeptFor, Replace: o.Replace, Mode: o.Mode, Seed: o.Seed, Steps: o.Steps, Root: o.Root, MemoryLimit: o.MemoryLimit, ManifestOnly: o.ManifestOnly}
}

// plan returns the plan of a checked config, nil if there is no checked config.
func (o *CheckOptions) plan(s *spec.Spec) *Plan {
	if s == nil {
		return nil
	}
	return plan.New(s, &plan.Options{CheckRecords: o.CheckRecords, Quarantine: o.Quarantine, NativeLibrary: native.Find(o.Runtime)})
}
