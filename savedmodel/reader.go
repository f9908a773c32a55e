package savedmodel

import (
	"millrace/savedmodel/bundle"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// reader reads one model.
type reader struct {
	metagraph.Report
	dir     string
	folder  *modelfile.Folder // nil for a GraphDef
	options *Options
	allowed map[string]bool
	sum     string // SHA-256 of the file

	tagSets  [][]string
	bundle   *bundle.Index // index of the variables, nil if there are none
	missing  error         // error about a missing asset, nil if all exist
	unusable map[string]error
	restored []string // names of the tensors that the restore operation reads
}

// newReader returns a reader of the model at a path.
func newReader(path string, o *Options) *reader {
	r := &reader{dir: path, options: o, allowed: map[string]bool{}}
	if r.options == nil {
		r.options = &Options{}
	}
	r.Kind, r.Unchecked = "SavedModel", r.options.Unchecked
	for _, op := range r.options.AllowOps {
		r.allowed[op] = true
	}
	return r
}

// parserOf returns a parser of the model's graphs.
func parserOf(r *reader) *metagraph.Parser {
	return &metagraph.Parser{Report: &r.Report, MaxNodes: r.options.maxNodes()}
}
