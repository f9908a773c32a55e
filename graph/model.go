package graph

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"millrace"
	"millrace/internal/base/uninterruptible"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// DefaultSignature is the key of the signature that is called by default.
// TensorFlow's exporters use it for serving.
const DefaultSignature = "serving_default"

// ModelOptions are the options of loading a model. Nil and the zero value mean the
// defaults.
type ModelOptions struct {
	Tags       []string // tags of the meta graph, exactly these; nil: "serve", or the tags of a model's only meta graph
	Signatures []string // signatures that the model must have
	AllowOps   []string // operations that touch the host and are allowed all the same
	Unchecked  bool     // load a model that the policy refuses: DANGEROUS, see savedmodel.Options
	SHA256     string   // SHA-256 of saved_model.pb or the GraphDef, in hexadecimal; "": not pinned
	Runtime    *tfbridge.RuntimeOptions

	// DecodeLimit is how many bytes one operation of the model may make of bytes that it
	// parses: an image, a decompressed string, a repeated value. 0: 256 MiB. A run that
	// would make more fails with an error of class ErrLimit.
	DecodeLimit int64

	Session *tfbridge.SessionOptions // nil: soft placement and defaults, as in TensorFlow 2

	// Place returns the devices of variables, such as "/job:ps/task:0", in the order in which
	// it gets them; "" leaves the choice to TensorFlow. Nil: TensorFlow places all.
	Place func(variables []VariableSize) (devices []string)
	// Blank leaves the variables without values, for a session whose variables another process
	// has set or will set. Tables are initialized all the same.
	Blank bool

	// Inline makes Call execute operations in the calling thread. That suits small
	// models, and programs that make as many calls at once as there are processors.
	// See [tfbridge.Callable.Inline].
	Inline bool

	// AnyShape makes Call take inputs of another shape than the signature's, as TensorFlow
	// Serving does: a signature may say [?, 1] of a graph that takes vectors as well. What
	// TensorFlow's operations refuse is an error of class ErrModel with the code
	// InvalidArgument. By default Call compares shapes before anything runs.
	AnyShape bool
}

// VariableSize is a variable of a model by the name of its node, with the bytes of its value.
type VariableSize struct {
	Node  string
	Bytes int64
}

// check returns the options for package savedmodel.
func (o *ModelOptions) check(values bool) *savedmodel.Options {
	return &savedmodel.Options{
		Tags: o.Tags, Signatures: o.Signatures, AllowOps: o.AllowOps, Unchecked: o.Unchecked, SHA256: o.SHA256,
		SkipTensorChecksums: !values,
	}
}

// session returns the options of the model's session. By default operations run on
// a CPU where the graph asks for a GPU that is missing. Python and TensorFlow
// Serving do the same.
func (o *ModelOptions) session() *tfbridge.SessionOptions {
	if o.Session != nil {
		return o.Session
	}
	return &tfbridge.SessionOptions{SoftPlacement: true}
}

// Model is a loaded model: its graph and a session with its variables.
// [Model.Close] frees them.
//
// A model is a program. It is checked before TensorFlow sees it, and operations
// that touch files or the network are refused unless allowed. The check is not a
// sandbox.
//
// Many goroutines may run a model and close it. Methods of a closed or nil model
// return errors of class ErrClosed.
type Model struct {
	path    string
	session *tfbridge.Session
	graph   *tfbridge.Graph
	saved   *tfbridge.SavedModel // nil for a GraphDef
	checked *savedmodel.Model    // nil for a GraphDef
	stage   *savedmodel.Stage    // nil for a GraphDef
	closed  atomic.Bool

	once     sync.Once
	closeErr error // result of Close
}

// LoadModel checks and loads the SavedModel in dir. The values of variables are
// checked by TensorFlow as it restores them, and read again only to say which
// one is damaged. Errors are of class ErrModel, ErrUnsafeModel, ErrLimit or
// ErrIO.
//
// A URL of a store of package remote may stand for dir: see [savedmodel.Read].
//
// TensorFlow does not read the model's protobuf: it imports the checked graph, as
// package savedmodel serialized it.
func LoadModel(dir string, o *ModelOptions) (*Model, error) {
	checked, err := ReadModel(dir, o)
	if err != nil {
		return nil, err
	}
	return LoadChecked(checked, o)
}

// LoadModelContext is LoadModel that returns when ctx is done, with an error of class
// millrace.ErrCanceled. Work that TensorFlow cannot stop continues in the background;
// the model is closed when it ends.
func LoadModelContext(ctx context.Context, dir string, o *ModelOptions) (*Model, error) {
	return uninterruptible.Run(ctx, func() (*Model, error) {
		checked, err := ReadModel(dir, o)
		if err != nil {
			return nil, err
		}
		return loadChecked(ctx, checked, o)
	})
}

// ReadModel checks the SavedModel in dir as [LoadModel] does, without loading
// it. No runtime is needed.
func ReadModel(dir string, o *ModelOptions) (*savedmodel.Model, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	return savedmodel.Read(dir, o.check(false))
}

// ImportModel checks and loads a model without variables: a GraphDef in a
// file, as [Freeze] makes it. It has no signatures; [Model.Op] finds what to
// feed and fetch. Errors are as those of [LoadModel].
//
// It wraps TF_GraphImportGraphDef and TF_NewSession.
func ImportModel(file string, o *ModelOptions) (*Model, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	def, err := savedmodel.ReadGraph(file, o.check(true))
	if err != nil {
		return nil, err
	}
	if _, err := tfbridge.Open(o.Runtime); err != nil {
		return nil, err
	}
	session, err := importGraph(def, nil, o)
	if err != nil {
		return nil, ModelError(file, "", err)
	}
	return &Model{path: file, session: session, graph: session.Graph()}, nil
}

// ModelError returns the model's error for a failure of TensorFlow. It has class
// ErrModel, or ErrLimit if memory ran out. Errors with a class pass through.
func ModelError(path, signature string, err error) error {
	var known *millrace.Error
	if errors.As(err, &known) {
		return err
	}
	e := millrace.Errorf(millrace.ErrModel, "%w", err)
	e.File, e.Signature = path, signature
	var failed *tfbridge.Error
	if errors.As(err, &failed) {
		e.Code = int(failed.Code)
		if failed.Code == tfbridge.ResourceExhausted {
			e.Class = millrace.ErrLimit
		}
	}
	return e
}

// Graph returns the model's graph. Operations may be added to it. The model owns
// it.
func (m *Model) Graph() *tfbridge.Graph {
	if m == nil {
		return nil
	}
	return m.graph
}

// Session returns the session that holds the model's variables. The model owns
// it.
func (m *Model) Session() *tfbridge.Session {
	if m == nil {
		return nil
	}
	return m.session
}

// Signatures returns the ways to call the model by key, none for a GraphDef.
func (m *Model) Signatures() map[string]tfbridge.Signature {
	if m == nil || m.saved == nil {
		return nil
	}
	signatures := maps.Clone(m.saved.Signatures)
	for key := range signatures {
		if strings.HasPrefix(key, "__saved_model_") { // what TensorFlow runs as it loads
			delete(signatures, key)
		}
	}
	return signatures
}

// AddSignature adds a way to call the model: tensors of its graph, to which operations
// may have been added. A key that the model has already, or a tensor that its graph
// does not have, is an error of class ErrModel. AddSignature must not run at the same
// time as other methods.
func (m *Model) AddSignature(key string, s tfbridge.Signature) error {
	if err := m.check(); err != nil {
		return err
	}
	if m.saved == nil {
		return m.signatureErrorf(key, "a GraphDef has no signatures")
	}
	if _, ok := m.saved.Signatures[key]; ok {
		return m.signatureErrorf(key, "the model has this signature already")
	}
	for _, infos := range []map[string]tfbridge.TensorInfo{s.Inputs, s.Outputs} {
		for name, info := range infos {
			if _, err := info.Output(m.graph); err != nil {
				return m.signatureErrorf(key, "tensor %q: %w", name, err)
			}
		}
	}
	m.saved.Signatures[key] = s
	return nil
}

// signatureErrorf returns an error about a signature.
func (m *Model) signatureErrorf(key, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrModel, format, args...)
	e.File, e.Signature = m.path, key
	return e
}

// Saved returns what the check found out about the model: its variables, the
// version of TensorFlow that wrote it, warnings. It is nil for a GraphDef.
func (m *Model) Saved() *savedmodel.Model {
	if m == nil {
		return nil
	}
	return m.checked
}

// Op returns an output of an operation of the model's graph.
func (m *Model) Op(name string, index int) (tfbridge.Output, error) {
	if err := m.check(); err != nil {
		return tfbridge.Output{}, err
	}
	op := m.graph.Operation(name)
	switch {
	case op == nil:
		e := millrace.Errorf(millrace.ErrModel, "the graph has no operation %q", name)
		e.File = m.path
		return tfbridge.Output{}, e
	case index < 0 || index >= op.NumOutputs():
		e := millrace.Errorf(millrace.ErrModel, "operation %q has %d outputs, there is no output %d", name, op.NumOutputs(), index)
		e.File = m.path
		return tfbridge.Output{}, e
	}
	return op.Output(index), nil
}

// Exec runs the part of the graph that fetches need. Feeds replace values that the
// graph would compute. The caller closes the fetches. See
// [tfbridge.Session.RunContext].
func (m *Model) Exec(ctx context.Context, fetches []tfbridge.Output, feeds map[tfbridge.Output]*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	values, err := m.session.RunContext(ctx, feeds, fetches, nil)
	if err != nil {
		return nil, ModelError(m.path, "", err)
	}
	return values, nil
}

// Call runs a signature with inputs and outputs by name. An empty key means
// [DefaultSignature]. outputs names those to compute; none stands for all that can be
// fetched. An output of dtype resource or variant stays in TensorFlow: Call skips it,
// and fails if it is requested by name.
//
// An input is a *tfbridge.Tensor, which the caller keeps, or a Go value for
// [tfbridge.NewTensor]. Call converts numbers to the data type of the signature: a
// []int to int64, a []float64 to float32. It refuses an element that the type does
// not hold exactly; only a number outside of slices is rounded. For a string, a
// []byte is one element. Call first compares names, data types and, unless
// [ModelOptions] say otherwise, shapes with the signature. The caller closes the results.
//
// A sparse, ragged or composite tensor goes in and comes out as its components, each
// under its own name: "ids/indices", "ids/values" and "ids/dense_shape" of a sparse
// tensor "ids", "ids/flat_values" and "ids/row_splits" of a ragged one.
// [Model.Signatures] lists the names; [savedmodel.Tensor] says which components belong
// together. Models that TensorFlow 2 saves take the components of a composite input as
// separate inputs, named x, x_1 and so on.
//
// Serialized Examples that would end the process in TensorFlow's parsers are refused
// before the model parses them, with an error of class ErrCorrupt or ErrSchema that
// names the input and the element; errors.As finds a [tfbridge.RefusedBytes].
func (m *Model) Call(ctx context.Context, key string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if m.saved == nil {
		e := millrace.Errorf(millrace.ErrModel, "a GraphDef has no signatures; run its operations with Exec")
		e.File = m.path
		return nil, e
	}
	key = cmp.Or(key, DefaultSignature)
	if err := m.checked.Unusable[key]; err != nil {
		return nil, err
	}
	tensors := make(map[string]*tfbridge.Tensor, len(inputs))
	var made []*tfbridge.Tensor
	defer func() {
		for _, t := range made {
			t.Close()
		}
	}()
	for name, value := range inputs {
		t, ok := value.(*tfbridge.Tensor)
		if !ok {
			var err error
			if t, err = m.tensor(key, name, value); err != nil {
				return nil, err
			}
			made = append(made, t)
		}
		tensors[name] = t
	}
	results, err := m.saved.Run(ctx, key, tensors, outputs...)
	if err != nil {
		return nil, ModelError(m.path, key, refusedInput(key, tensors, err))
	}
	return results, nil
}

// tensor makes the tensor of a Go value for an input of a signature, nil if it
// has no such input.
func (m *Model) tensor(key, name string, value any) (*tfbridge.Tensor, error) {
	info, ok := m.saved.Signatures[key].Inputs[name]
	if !ok {
		return nil, nil // the comparison of names reports it
	}
	t, err := InputTensor(info, value)
	if err != nil {
		return nil, &millrace.Error{Class: millrace.ErrModel, File: m.path, Signature: key, Tensor: name, Record: -1, Offset: -1, Err: err}
	}
	return t, nil
}

// InputTensor returns the tensor of a Go value for an input of a signature, with
// the conversions of [Model.Call]. The caller closes it.
func InputTensor(info tfbridge.TensorInfo, value any) (*tfbridge.Tensor, error) {
	value, err := inputOf(info.DType, value)
	if err != nil {
		return nil, err
	}
	return tfbridge.NewTensor(value)
}

// check fails if the model is nil or closed.
func (m *Model) check() error {
	if m == nil || m.session == nil {
		return millrace.Errorf(millrace.ErrClosed, "there is no model: it is nil or a zero value")
	}
	if m.closed.Load() {
		e := millrace.Errorf(millrace.ErrClosed, "the model is closed")
		e.File = m.path
		return e
	}
	return nil
}

// Abandoned returns the runs that TensorFlow has not ended although no caller waits for
// them any more; see [tfbridge.Session.Abandoned].
func (m *Model) Abandoned() []tfbridge.AbandonedRun {
	if m.check() != nil {
		return nil
	}
	return m.session.Abandoned()
}

// Close frees session and graph. It is idempotent: concurrent and later calls wait for
// the first one, and return its error.
func (m *Model) Close() error {
	if m == nil || m.session == nil {
		return nil
	}
	m.once.Do(func() {
		m.closed.Store(true)
		m.closeErr = errors.Join(m.session.Close(), m.graph.Close(), m.stage.Close(), m.checked.Close())
	})
	return m.closeErr
}

// refusedInput returns the error of a call that failed over a serialized Example, with
// the input that the Example came in. Other errors pass through, among them errors
// about Examples that the graph computed.
func refusedInput(key string, inputs map[string]*tfbridge.Tensor, err error) error {
	var refused *tfbridge.RefusedBytes
	if !errors.As(err, &refused) {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		records, failed := inputs[name].Strings() // a copy is cheap enough for an error
		if failed != nil {
			continue
		}
		at := slices.IndexFunc(records, refused.IsRecord)
		if at < 0 {
			continue
		}
		e := millrace.Errorf(millrace.ErrCorrupt, "element %d: %w", at, refused.Err)
		e.Signature, e.Tensor, e.Code, e.Err = key, name, int(tfbridge.InvalidArgument), err
		var reason *millrace.Error
		if errors.As(refused.Err, &reason) {
			e.Class = reason.Class
		}
		return e
	}
	return err
}
