package policy

import (
	"strings"

	"millrace/savedmodel/message"
)

// conditions decides, for each class that the table marks with check, whether an
// operation is allowed at its location.
var conditions = map[string]func(p *Checker, s suspect) bool{
	"asset":      (*Checker).readsAsset,
	"cache":      (*Checker).cachesInMemory,
	"descriptor": (*Checker).hasDescriptors,
	"module":     (*Checker).hasPlainModule,
	"print":      (*Checker).printsToLog,
	"restore":    (*Checker).restoresModel,
	"save":       (*Checker).savesModel,
	"vocabulary": (*Checker).hasNoVocabulary,
}

// readsAsset allows a table to be read from one of the model's own assets. It also
// allows a table to be read from the argument of a function that is never called:
// TensorFlow 2.0 to 2.4 save such a function in addition to the called one.
func (p *Checker) readsAsset(s suspect) bool {
	kind := p.comesFrom(s.caller, s.input(1)).kind
	return kind == originAsset || kind == originNever
}

// cachesInMemory allows a dataset's cache without a file.
func (p *Checker) cachesInMemory(s suspect) bool {
	o := p.comesFrom(s.caller, s.input(1))
	return o.kind == originConst && len(o.values) == 1 && o.values[0] == ""
}

// hasDescriptors allows protobuf descriptors that are linked in or in the model.
func (p *Checker) hasDescriptors(s suspect) bool {
	source, ok := s.literal("descriptor_source", "local://")
	return ok && (source == "" || source == "local://" || strings.HasPrefix(source, "bytes://"))
}

// hasPlainModule allows a module of StableHLO that only computes.
func (p *Checker) hasPlainModule(s suspect) bool {
	module, ok := s.literal("module", "")
	return ok && isPlainModule([]byte(module))
}

// printsToLog allows printing to the standard streams and the log. Prints to stdout are
// redirected to stderr: see redirect.
func (p *Checker) printsToLog(s suspect) bool {
	stream, ok := s.literal(message.PrintStream, "stderr")
	switch stream {
	case "stderr", "log(info)", "log(warning)", "log(error)":
		return ok
	}
	return false
}

// hasNoVocabulary allows a sampler with inline weights.
func (p *Checker) hasNoVocabulary(s suspect) bool {
	file, ok := s.literal("vocab_file", "")
	return ok && file == ""
}

// literal returns the value of a string attribute, or its default. It reports false for
// any other attribute, such as one whose value the caller of a function sets.
func (s suspect) literal(attr, fallback string) (string, bool) {
	v := s.node.Attr(attr)
	if v == nil {
		return fallback, true
	}
	return message.AttrString(v)
}
