package savedmodel

import (
	"crypto/sha256"
	"encoding/hex"

	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
	"millrace/savedmodel/policy"
)

// ReadGraph reads the GraphDef in a file, a frozen model's for example, and checks its
// form, its functions and its operations. It returns the checked GraphDef in canonical
// form: pass that to TensorFlow, not the file. It only uses the options AllowOps,
// SHA256, MaxBytes and MaxNodes; o may be nil. Errors are as those of [Read].
func ReadGraph(file string, o *Options) ([]byte, error) {
	r := newReader(file, o)
	r.File, r.Kind = file, "GraphDef"
	data, err := r.readProtobuf(modelfile.OpenFile(file), r.options.maxBytes())
	if err != nil {
		return nil, err
	}
	if err := r.checkPin(); err != nil {
		return nil, err
	}
	return r.checkGraphDef(data)
}

// ReadMetaGraph is [ReadGraph] of a file that holds a MetaGraphDef, as
// tf.compat.v1.train.export_meta_graph writes it. It returns the MetaGraphDef in
// canonical form, with the checked GraphDef.
func ReadMetaGraph(file string, o *Options) (metaGraph, graphDef []byte, err error) {
	r := newReader(file, o)
	r.File, r.Kind = file, "MetaGraphDef"
	data, err := r.readProtobuf(modelfile.OpenFile(file), r.options.maxBytes())
	if err != nil {
		return nil, nil, err
	}
	if err := r.checkPin(); err != nil {
		return nil, nil, err
	}
	var walk message.Checker
	if err := r.Damaged(walk.Whole(data, message.MetaGraphType())); err != nil {
		return nil, nil, err
	}
	metaGraph = message.Canonical(data, message.MetaGraphType())
	def, ok := message.Find(metaGraph, metagraph.MetaGraphDef)
	if !ok {
		return nil, nil, r.Fail("it has no graph")
	}
	graphDef, err = r.checkGraphDef(def.Bytes)
	return metaGraph, graphDef, err
}

// CheckGraph is [ReadGraph] of a GraphDef in memory. Messages refer to it by name.
func CheckGraph(name string, def []byte, o *Options) ([]byte, error) {
	r := newReader(name, o)
	digest := sha256.Sum256(def)
	r.File, r.Kind, r.sum = name, "GraphDef", hex.EncodeToString(digest[:])
	return r.checkGraphDef(def)
}

// checkGraphDef checks a GraphDef that has no signatures, and returns it in
// canonical form.
func (r *reader) checkGraphDef(def []byte) ([]byte, error) {
	var walk message.Checker
	if err := r.Damaged(walk.Whole(def, message.GraphDefType())); err != nil {
		return nil, err
	}
	def = message.Canonical(def, message.GraphDefType())
	m := metagraph.New()
	if err := parserOf(r).ParseGraphDef(m, def); err != nil {
		return nil, err
	}
	if err := r.checkVersion(m); err != nil {
		return nil, err
	}
	checker := policy.New(m, &r.Report, r.allowed)
	if err := checker.CheckCalls(); err != nil {
		return nil, err
	}
	if _, err := r.usedSignatures(nil); err != nil {
		return nil, err
	}
	_, err := checker.Check(true, nil)
	return def, err
}
