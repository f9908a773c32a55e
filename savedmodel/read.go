package savedmodel

import (
	"maps"
	"slices"
	"strings"

	"millrace"
)

// newestProducer is the version of graphs that the runtime writes and the
// newest that it reads: TF_GRAPH_DEF_VERSION.
const newestProducer = 2474

// reader reads one model.
type reader struct {
	report
	dir     string
	folder  *folder // nil for a GraphDef
	options *Options
	allowed map[string]bool
	sum     string // SHA-256 of file

	tagSets  [][]string
	bundle   *bundle // of the variables, nil if there are none
	missing  error   // of an asset, nil if all are there
	unusable map[string]error
	restored []string // names of the tensors that the restore operation reads
}

// Read reads the SavedModel in dir and checks all of it, as the package comment
// says. Options may be nil. Every error is a [millrace.Error] of class ErrModel
// or ErrUnsafeModel; errors.Is also finds ErrTruncated, ErrCorrupt, ErrLimit or
// ErrIO where they apply. It may be called from many goroutines.
func Read(dir string, o *Options) (*Model, error) {
	r := newReader(dir, o)
	var err error
	if r.folder, err = openFolder(dir); err != nil {
		return nil, err
	}
	defer r.folder.close()
	if r.options.Unchecked {
		r.folder.refused = func(err error) { r.refused = append(r.refused, err) }
	}
	data, err := r.load()
	if err != nil {
		return nil, err
	}
	return r.read(data)
}

// read checks a SavedModel's protobuf and what is beside it.
func (r *reader) read(data []byte) (*Model, error) {
	fingerprinted, err := r.checkFile(data)
	if err != nil {
		return nil, err
	}
	graph, err := r.selectGraph(data)
	if err != nil {
		return nil, err
	}
	// From here on nothing looks at the bytes of the file.
	model, err := r.checkGraph(canonical(graph, metaGraphType()))
	if err != nil {
		return nil, err
	}
	model.Fingerprinted, model.TagSets = fingerprinted, r.tagSets
	return model, nil
}

// newReader returns a reader of the model at a path.
func newReader(path string, o *Options) *reader {
	r := &reader{dir: path, options: o, allowed: map[string]bool{}}
	if r.options == nil {
		r.options = &Options{}
	}
	r.kind, r.unchecked = "SavedModel", r.options.Unchecked
	for _, op := range r.options.AllowOps {
		r.allowed[op] = true
	}
	return r
}

// checkPin compares the file's digest with the one that the caller wants.
func (r *reader) checkPin() error {
	if pin := r.options.SHA256; pin != "" && !strings.EqualFold(pin, r.sum) {
		return r.fail("its SHA-256 is %s, pinned is %s", r.sum, quote(pin))
	}
	return nil
}

// checkVersion refuses a graph that only a newer TensorFlow reads.
func (r *reader) checkVersion(m *metaGraph) error {
	if m.minConsumer > newestProducer {
		return r.fail("it needs a newer TensorFlow than %s (graph version %d, at most %d can be read)",
			runtimeVersion, m.minConsumer, newestProducer)
	}
	return nil
}

// checkFile checks the protobuf: pin, form, fingerprint.
func (r *reader) checkFile(data []byte) (fingerprinted bool, err error) {
	if err := r.checkPin(); err != nil {
		return false, err
	}
	var walk wireCheck
	if err := r.wireError(walk.whole(data, savedModelType())); err != nil {
		return false, err
	}
	fingerprinted, err = r.checkFingerprint(data)
	if err = r.tolerateAny(err); err != nil || fingerprinted || walk.unknown == nil {
		return fingerprinted, err
	}
	return false, r.tolerateAny(r.checkUnknown(data, walk.unknown))
}

// checkUnknown refuses fields that no TensorFlow up to ours writes: they are
// damage, unless a newer TensorFlow wrote them.
func (r *reader) checkUnknown(data []byte, unknown *wireError) error {
	for _, g := range metaGraphs(data) {
		for f := range fieldsOf(g) {
			if f.num != metaGraphDef {
				continue
			}
			if v, ok := attrField(f.bytes, graphVersions); ok {
				var m metaGraph
				if m.parseVersions(v.bytes); m.producer > newestProducer {
					return nil
				}
			}
		}
	}
	e := r.fail("it is damaged: in %s: %s to the TensorFlow that wrote it", unknown.message, unknown.what)
	e.Err, e.Offset = millrace.ErrCorrupt, unknown.offset
	return e
}

// checkGraph checks one graph and everything beside it.
func (r *reader) checkGraph(graph []byte) (*Model, error) {
	m, err := r.parser().parseGraph(graph)
	if err != nil {
		return nil, err
	}
	if err := r.checkVersion(m); err != nil {
		return nil, err
	}
	policy := newJudgement(m, &r.report, r.allowed)
	if err := policy.checkCalls(); err != nil {
		return nil, err
	}
	sigs, unusable, err := m.readSignatures(&r.report)
	if err != nil {
		return nil, err
	}
	r.unusable = unusable
	if err := r.checkAssets(m); err != nil {
		return nil, err
	}
	if m.initOp, err = m.findInitOp(&r.report); err != nil {
		return nil, err
	}
	if _, err := r.usedSignatures(sigs); err != nil {
		return nil, err
	}
	if r.restored, err = policy.judge(false, r.missing); err != nil {
		return nil, err
	}
	variables, err := r.checkVariables(m)
	if err != nil {
		return nil, err
	}
	if err := policy.checkUnset(sigs, r.unusable); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(r.unusable)) {
		r.warnings = append(r.warnings, r.unusable[name])
	}
	return &Model{
		Dir: r.dir, Tags: metaTags(graph), Signatures: sigs, Unusable: r.unusable, Variables: variables,
		TensorFlow: m.version, SHA256: r.sum, Warnings: r.warnings, Refused: r.refused,
		program: r.programOf(m, graph), bundle: r.bundle, objects: m.objects, unchecked: r.options.Unchecked,
	}, nil
}

// usedSignatures returns the signatures that the caller means to run.
func (r *reader) usedSignatures(sigs map[string]*Signature) ([]*Signature, error) {
	var used []*Signature
	for _, name := range r.options.signatures() {
		if err := r.unusable[name]; err != nil {
			return nil, err
		}
		s, err := findSignature(r.file, sigs, name)
		if err != nil {
			return nil, err
		}
		used = append(used, s)
	}
	return used, nil
}

// parser returns what takes the model's graphs apart.
func (r *reader) parser() *parser { return &parser{report: &r.report, maxNodes: r.options.maxNodes()} }
