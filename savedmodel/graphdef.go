package savedmodel

import (
	"crypto/sha256"
	"encoding/hex"
)

// ReadGraph reads the GraphDef in a file, a frozen model's for example, and
// checks its form, its functions and its operations. It returns the GraphDef
// that was judged, in canonical form: give that to TensorFlow, not the file. Of
// the options it looks at AllowOps, SHA256, MaxBytes and MaxNodes; they may be
// nil. Errors are as those of [Read].
func ReadGraph(file string, o *Options) ([]byte, error) {
	r := newReader(file, o)
	r.file, r.kind = file, "GraphDef"
	data, err := r.readProtobuf(openFile(file), r.options.maxBytes())
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
// canonical form, with the GraphDef that was judged.
func ReadMetaGraph(file string, o *Options) (metaGraph, graphDef []byte, err error) {
	r := newReader(file, o)
	r.file, r.kind = file, "MetaGraphDef"
	data, err := r.readProtobuf(openFile(file), r.options.maxBytes())
	if err != nil {
		return nil, nil, err
	}
	if err := r.checkPin(); err != nil {
		return nil, nil, err
	}
	var walk wireCheck
	if err := r.wireError(walk.whole(data, metaGraphType())); err != nil {
		return nil, nil, err
	}
	metaGraph = canonical(data, metaGraphType())
	def, ok := attrField(metaGraph, metaGraphDef)
	if !ok {
		return nil, nil, r.fail("it has no graph")
	}
	graphDef, err = r.checkGraphDef(def.bytes)
	return metaGraph, graphDef, err
}

// CheckGraph is [ReadGraph] of a GraphDef in memory, which messages call name.
func CheckGraph(name string, def []byte, o *Options) ([]byte, error) {
	r := newReader(name, o)
	digest := sha256.Sum256(def)
	r.file, r.kind, r.sum = name, "GraphDef", hex.EncodeToString(digest[:])
	return r.checkGraphDef(def)
}

// checkGraphDef checks a GraphDef that has no signatures, and returns it in
// canonical form.
func (r *reader) checkGraphDef(def []byte) ([]byte, error) {
	var walk wireCheck
	if err := r.wireError(walk.whole(def, graphDefType())); err != nil {
		return nil, err
	}
	def = canonical(def, graphDefType())
	m := newMetaGraph()
	if err := r.parser().parseGraphDef(m, def); err != nil {
		return nil, err
	}
	if err := r.checkVersion(m); err != nil {
		return nil, err
	}
	policy := newJudgement(m, &r.report, r.allowed)
	if err := policy.checkCalls(); err != nil {
		return nil, err
	}
	if _, err := r.usedSignatures(nil); err != nil {
		return nil, err
	}
	_, err := policy.judge(true, nil)
	return def, err
}
