package policy

import (
	"strings"

	"millrace/savedmodel/message"
)

// conditions decides, for each class of operations that the table says to
// check, whether an operation may stand where it does.
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

// readsAsset allows a table to be read from an asset of the model's own. It also
// allows one to be read from the argument of a function that nothing calls:
// TensorFlow 2.0 to 2.4 save such a function beside the one that they call.
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

// hasPlainModule allows a module of StableHLO that computes and nothing else.
func (p *Checker) hasPlainModule(s suspect) bool {
	module, ok := s.literal("module", "")
	return ok && isPlainModule([]byte(module))
}

// printsToLog allows printing to the places that every program prints to. What a model
// prints to stdout goes to stderr: see redirect.
func (p *Checker) printsToLog(s suspect) bool {
	stream, ok := s.literal(message.PrintStream, "stderr")
	switch stream {
	case "stderr", "log(info)", "log(warning)", "log(error)":
		return ok
	}
	return false
}

// hasNoVocabulary allows a sampler that was given its weights.
func (p *Checker) hasNoVocabulary(s suspect) bool {
	file, ok := s.literal("vocab_file", "")
	return ok && file == ""
}

// literal returns an attribute that is a string, or what it is by default. It
// reports false for an attribute that is something else, such as the name of
// one that the caller of a function gives.
func (s suspect) literal(attr, fallback string) (string, bool) {
	v := s.node.Attr(attr)
	if v == nil {
		return fallback, true
	}
	return message.AttrString(v)
}
