package savedmodel

import (
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/internal/base/wire"
	"millrace/remote"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
	"millrace/savedmodel/policy"
)

// newestProducer is the graph version that the runtime writes, and the newest that it
// reads: TF_GRAPH_DEF_VERSION.
const newestProducer = 2474

// Read reads the SavedModel in dir and makes all checks of the package comment. Options
// may be nil. Every error is a [millrace.Error] of class ErrModel or ErrUnsafeModel;
// errors.Is also finds ErrTruncated, ErrCorrupt, ErrLimit or ErrIO where they apply. It
// may be called from many goroutines.
//
// A URL of a store of package remote may stand for the folder. Then Read copies all files to a
// private folder, which [Model.Close] removes.
func Read(dir string, o *Options) (*Model, error) {
	if remote.IsURL(dir) {
		return readURL(dir, o)
	}
	r := newReader(dir, o)
	var err error
	if r.folder, err = modelfile.Open(dir); err != nil {
		return nil, err
	}
	defer r.folder.Close()
	if r.options.Unchecked {
		r.folder.Refused = func(err error) { r.Refused = append(r.Refused, err) }
	}
	data, err := r.load()
	if err != nil {
		return nil, err
	}
	return r.read(data)
}

// read checks a SavedModel's protobuf and its other files.
func (r *reader) read(data []byte) (*Model, error) {
	fingerprinted, err := r.checkFile(data)
	if err != nil {
		return nil, err
	}
	graph, err := r.selectGraph(data)
	if err != nil {
		return nil, err
	}
	// From here on the original bytes of the file are not used.
	model, err := r.checkGraph(message.Canonical(graph, message.MetaGraphType()))
	if err != nil {
		return nil, err
	}
	model.Fingerprinted, model.TagSets = fingerprinted, r.tagSets
	return model, nil
}

// checkPin compares the file's digest with the one that the caller wants.
func (r *reader) checkPin() error {
	if pin := r.options.SHA256; pin != "" && !strings.EqualFold(pin, r.sum) {
		return r.Fail("its SHA-256 is %s, pinned is %s", r.sum, modelfile.Quote(pin))
	}
	return nil
}

// checkVersion refuses a graph that needs a newer TensorFlow.
func (r *reader) checkVersion(m *metagraph.Graph) error {
	if m.MinConsumer > newestProducer {
		return r.Fail("it needs a newer TensorFlow than %s (graph version %d, at most %d can be read)",
			metagraph.RuntimeVersion, m.MinConsumer, newestProducer)
	}
	return nil
}

// checkFile checks the protobuf: pin, form, fingerprint.
func (r *reader) checkFile(data []byte) (fingerprinted bool, err error) {
	if err := r.checkPin(); err != nil {
		return false, err
	}
	var walk message.Checker
	if err := r.Damaged(walk.Whole(data, message.SavedModelType())); err != nil {
		return false, err
	}
	fingerprinted, err = fingerprintCheck{r}.check(data)
	if err = r.TolerateAny(err); err != nil || fingerprinted || walk.Unknown == nil {
		return fingerprinted, err
	}
	return false, r.TolerateAny(r.checkUnknown(data, walk.Unknown))
}

// checkUnknown refuses fields that TensorFlow up to the runtime's version does not
// write: they are damage, unless a newer TensorFlow wrote them.
func (r *reader) checkUnknown(data []byte, unknown *message.Error) error {
	for _, g := range metaGraphs(data) {
		for f := range wire.Fields(g) {
			if f.Num != metagraph.MetaGraphDef {
				continue
			}
			if v, ok := message.Find(f.Bytes, metagraph.GraphVersions); ok {
				var m metagraph.Graph
				if m.ParseVersions(v.Bytes); m.Producer > newestProducer {
					return nil
				}
			}
		}
	}
	e := r.Fail("it is damaged: in %s: %s to the TensorFlow that wrote it", unknown.Message, unknown.What)
	e.Err, e.Offset = millrace.ErrCorrupt, unknown.Offset
	return e
}

// checkGraph checks one graph and the files that it uses.
func (r *reader) checkGraph(graph []byte) (*Model, error) {
	m, err := parserOf(r).Parse(graph)
	if err != nil {
		return nil, err
	}
	if err := r.checkVersion(m); err != nil {
		return nil, err
	}
	checker := policy.New(m, &r.Report, r.allowed)
	if err := checker.CheckCalls(); err != nil {
		return nil, err
	}
	sigs, unusable, err := m.ReadSignatures(&r.Report)
	if err != nil {
		return nil, err
	}
	r.unusable = unusable
	if err := r.checkAssets(m); err != nil {
		return nil, err
	}
	if m.InitOp, err = m.FindInitOp(&r.Report); err != nil {
		return nil, err
	}
	if _, err := r.usedSignatures(sigs); err != nil {
		return nil, err
	}
	if r.restored, err = checker.Check(false, r.missing); err != nil {
		return nil, err
	}
	variables, err := r.checkVariables(m)
	if err != nil {
		return nil, err
	}
	if err := checker.CheckUnset(sigs, r.unusable); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(r.unusable)) {
		r.Warnings = append(r.Warnings, r.unusable[name])
	}
	return &Model{
		Dir: r.dir, Tags: metaTags(graph), Signatures: sigs, Unusable: r.unusable, Variables: variables,
		TensorFlow: m.Version, SHA256: r.sum, Warnings: r.Warnings, Refused: r.Refused,
		program: programOf(m, graph, r.bundle != nil), bundle: r.bundle, objects: m.Objects, unchecked: r.options.Unchecked,
	}, nil
}

// usedSignatures returns the signatures that the caller intends to run.
func (r *reader) usedSignatures(sigs map[string]*Signature) ([]*Signature, error) {
	var used []*Signature
	for _, name := range r.options.signatures() {
		if err := r.unusable[name]; err != nil {
			return nil, err
		}
		s, err := findSignature(r.File, sigs, name)
		if err != nil {
			return nil, err
		}
		used = append(used, s)
	}
	return used, nil
}
