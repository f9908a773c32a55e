package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/graph/internal/inputcheck"
	"millrace/internal/base/tfproto"
	"millrace/internal/base/uninterruptible"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// TensorFlow's own loader takes a folder. It reads the protobuf, makes a session of the
// graph, and runs two operations: one that restores the variables, with the prefix of
// their files fed, and one that initializes tables, both with the paths of the assets
// fed. Loading here does the same four steps, with the graph that package savedmodel
// checked and the files that it opened, so that nothing unchecked is read.

// LoadChecked loads a model that [ReadModel] has checked with the same options.
// The two are [LoadModel] in two steps, for programs that look at the model in
// between.
//
// It wraps TF_GraphImportGraphDef, TF_NewSession and TF_SessionRun.
func LoadChecked(checked *savedmodel.Model, o *ModelOptions) (*Model, error) {
	return loadChecked(context.Background(), checked, o)
}

// LoadCheckedContext is LoadChecked that returns when ctx is done, as
// [LoadModelContext] does.
func LoadCheckedContext(ctx context.Context, checked *savedmodel.Model, o *ModelOptions) (*Model, error) {
	return uninterruptible.Run(ctx, func() (*Model, error) { return loadChecked(ctx, checked, o) })
}

// loadChecked loads a checked model. The operations that run at load end with
// ctx.
func loadChecked(ctx context.Context, checked *savedmodel.Model, o *ModelOptions) (*Model, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	if _, err := tfbridge.Open(o.Runtime); err != nil {
		return nil, err
	}
	if checked == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "there is no model to load: it is nil")
	}
	m, err := loadProgram(ctx, checked, o)
	if ctx.Err() != nil && err != nil {
		return nil, millrace.Canceled(ctx, "")
	}
	if err != nil {
		if _, damaged := savedmodel.Read(checked.Dir, o.check(true)); damaged != nil {
			return nil, damaged
		}
		return nil, loadError(checked.Source(), err)
	}
	m.saved.Inline, m.saved.AnyShape = o.Inline, o.AnyShape
	return m, nil
}

// loadError adds the folder of the model to a failure to load it.
func loadError(dir string, err error) error {
	var known *millrace.Error
	if errors.As(err, &known) && known.File != "" {
		return err
	}
	e := millrace.Errorf(millrace.ErrModel, "%w", err)
	e.Op, e.File = "load model", dir
	var failed *tfbridge.Error
	if errors.As(err, &failed) {
		e.Code = int(failed.Code)
	}
	if errors.Is(err, millrace.ErrLimit) || failed != nil && failed.Code == tfbridge.ResourceExhausted {
		e.Class = millrace.ErrLimit
	}
	if errors.Is(err, millrace.ErrIO) {
		e.Class = millrace.ErrIO
	}
	return e
}

// loadProgram loads the program of a model and runs its load-time operations.
func loadProgram(ctx context.Context, checked *savedmodel.Model, o *ModelOptions) (m *Model, err error) {
	stage, err := checked.Stage()
	if err != nil {
		return nil, err
	}
	defer func() {
		if m == nil {
			stage.Close()
		}
	}()
	program := checked.Program()
	session, err := importGraph(program.GraphDef, fedBy(checked), o)
	if err != nil {
		return nil, err
	}
	saved, err := tfbridge.NewSavedModel(session, program.MetaGraph)
	if err == nil {
		correctTypes(saved, checked)
		err = initialize(ctx, session, program, stage, o.Blank)
	}
	if err != nil {
		session.Close()
		session.Graph().Close()
		return nil, err
	}
	return &Model{path: checked.Source(), session: session, graph: saved.Graph, saved: saved, stage: stage, checked: checked}, nil
}

// correctTypes gives the inputs of signatures the data types of the checked model, which are the graph's where the
// model says another.
func correctTypes(saved *tfbridge.SavedModel, checked *savedmodel.Model) {
	for key, sig := range saved.Signatures {
		known, err := checked.Signature(key)
		if err != nil {
			continue // it cannot be called
		}
		for _, in := range known.Inputs {
			if info, ok := sig.Inputs[in.Name]; ok && info.DType != in.DType {
				info.DType = in.DType
				sig.Inputs[in.Name] = info
			}
		}
	}
}

// fedBy returns the tensors that the signatures of a model feed.
func fedBy(m *savedmodel.Model) (fed []string) {
	for _, sig := range m.Signatures {
		for _, in := range sig.Inputs {
			fed = append(fed, in.Node)
		}
	}
	return fed
}

// importGraph returns a session on a new graph that holds what a GraphDef describes,
// with a check of serialized Examples before each operation that parses them. If the
// graph may loop, the session has threads with which to interrupt loops.
func importGraph(def []byte, fed []string, model *ModelOptions) (*tfbridge.Session, error) {
	def, err := inputcheck.Insert(def, inputcheck.Options{Limit: model.DecodeLimit, Compile: slices.Contains(model.AllowOps, "XlaLaunch"), Fed: fed})
	if err != nil {
		return nil, err
	}
	if def, err = model.place(def); err != nil {
		return nil, err
	}
	g := tfbridge.NewGraph()
	if len(def) > 0 { // a model may hold nothing
		if err := g.Import(def, ""); err != nil {
			g.Close()
			return nil, err
		}
	}
	own := *model.session()
	own.KeepMemory = true
	o := &own
	if o.InterOpThreads >= 0 && g.MayLoop() {
		withPool := *o
		withPool.LoopPool = true
		o = &withPool
	}
	session, err := tfbridge.NewSession(g, o)
	if err != nil {
		g.Close()
		return nil, err
	}
	return session, nil
}

// place gives the variables of a GraphDef the devices that the options name.
func (o *ModelOptions) place(def []byte) ([]byte, error) {
	if o.Place == nil {
		return def, nil
	}
	g := &tfproto.GraphDef{}
	if err := proto.Unmarshal(def, g); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read the model's graph: %w", err)
	}
	var nodes []*tfproto.NodeDef
	var sizes []VariableSize
	for _, n := range g.Node {
		if n.Op != "VarHandleOp" {
			continue
		}
		var dims []int64
		for _, d := range n.Attr["shape"].GetShape().GetDim() {
			dims = append(dims, d.GetSize())
		}
		_, bytes, _ := dtype.ByteSize(dtype.DataType(n.Attr["dtype"].GetType()), dims) // 0 for a size that varies
		nodes, sizes = append(nodes, n), append(sizes, VariableSize{n.Name, bytes})
	}
	for i, device := range o.Place(sizes) {
		nodes[i].Device = device
	}
	placed, err := proto.Marshal(g)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "write the model's graph: %w", err)
	}
	return placed, nil
}

// initialize restores the variables, unless they are to stay blank, and runs the init operation.
func initialize(ctx context.Context, session *tfbridge.Session, p *savedmodel.Program, stage *savedmodel.Stage, blank bool) (err error) {
	feeds := feeds{graph: session.Graph(), values: map[tfbridge.Output]*tfbridge.Tensor{}}
	defer feeds.close()
	for i, a := range p.Assets {
		if err := feeds.add(a.Tensor, stage.Assets[i]); err != nil {
			return err
		}
	}
	if p.RestoreOp != "" && !blank {
		if err := feeds.add(p.Filename, stage.Variables); err != nil {
			return err
		}
		if err := feeds.run(ctx, session, p.RestoreOp); err != nil {
			return fmt.Errorf("restore the variables: %w", err)
		}
		feeds.drop(p.Filename)
	}
	if p.InitOp == "" {
		return nil
	}
	if err := feeds.run(ctx, session, p.InitOp); err != nil {
		return fmt.Errorf("run the init operation: %w", err)
	}
	return nil
}

// feeds are strings to be fed to tensors of a graph.
type feeds struct {
	graph  *tfbridge.Graph
	values map[tfbridge.Output]*tfbridge.Tensor
}

// add feeds a tensor, "op:0", with a string.
func (f *feeds) add(tensor, value string) error {
	o, err := tfbridge.TensorInfo{Name: tensor}.Output(f.graph)
	if err != nil {
		return err
	}
	t, err := tfbridge.NewTensor(value)
	if err != nil {
		return err
	}
	if old := f.values[o]; old != nil {
		old.Close()
	}
	f.values[o] = t
	return nil
}

// drop stops feeding a tensor.
func (f *feeds) drop(tensor string) {
	o, err := tfbridge.TensorInfo{Name: tensor}.Output(f.graph)
	if err != nil || f.values[o] == nil {
		return
	}
	f.values[o].Close()
	delete(f.values, o)
}

// run runs an operation.
func (f *feeds) run(ctx context.Context, session *tfbridge.Session, name string) error {
	op := f.graph.Operation(name)
	if op == nil {
		return millrace.Errorf(millrace.ErrModel, "the graph has no operation %q to run at load", name)
	}
	_, err := session.RunContext(ctx, f.values, nil, []*tfbridge.Operation{op})
	return err
}

// close frees the values.
func (f *feeds) close() {
	for _, t := range f.values {
		t.Close()
	}
}
