package savedmodel

import "strings"

// conditions decides, for each class of operations that the table says to
// check, whether a use is allowed.
var conditions = map[string]func(w *walk, s suspect) bool{
	"asset":      (*walk).readsAsset,
	"cache":      (*walk).cachesInMemory,
	"descriptor": (*walk).hasDescriptors,
	"print":      (*walk).printsToLog,
	"restore":    (*walk).restoresModel,
	"vocabulary": (*walk).hasNoVocabulary,
}

// condition reports whether a suspect of a class to check is allowed.
func (w *walk) condition(s suspect) bool {
	allowed, ok := conditions[s.class.name]
	return ok && allowed(w, s)
}

// readsAsset allows a table to be read from an asset of the model's own.
func (w *walk) readsAsset(s suspect) bool {
	return w.comesFrom(s.caller, s.input(1)).kind == originAsset
}

// cachesInMemory allows a dataset's cache without a file.
func (w *walk) cachesInMemory(s suspect) bool {
	o := w.comesFrom(s.caller, s.input(1))
	return o.kind == originConst && len(o.values) == 1 && o.values[0] == ""
}

// restoresModel allows reading the checkpoint that TensorFlow names at load. It
// notes the tensors read, where they are written in the model.
func (w *walk) restoresModel(s suspect) bool {
	if w.root.kind != rootRestore || w.comesFrom(s.caller, s.input(0)).kind != originCheckpoint {
		return false
	}
	w.r.restored = append(w.r.restored, w.comesFrom(s.caller, s.input(1)).values...)
	return true
}

// hasDescriptors allows protobuf descriptors that are linked in or in the model.
func (w *walk) hasDescriptors(s suspect) bool {
	source, ok := attrString(s.node.attr("descriptor_source"))
	if s.node.attr("descriptor_source") == nil {
		return true // the default is local://
	}
	return ok && (source == "" || source == "local://" || strings.HasPrefix(source, "bytes://"))
}

// printsToLog allows printing to the places that every program prints to.
func (w *walk) printsToLog(s suspect) bool {
	stream, ok := attrString(s.node.attr("output_stream"))
	if s.node.attr("output_stream") == nil {
		return true // the default is stderr
	}
	switch stream {
	case "stdout", "stderr", "log(info)", "log(warning)", "log(error)":
		return ok
	}
	return false
}

// hasNoVocabulary allows a sampler that was given its weights.
func (w *walk) hasNoVocabulary(s suspect) bool {
	file, ok := attrString(s.node.attr("vocab_file"))
	return s.node.attr("vocab_file") == nil || (ok && file == "")
}

// input returns a data input of a suspect, "" if it has too few.
func (s suspect) input(i int) string {
	if in := s.node.dataInputs(); i < len(in) {
		return in[i]
	}
	return ""
}
