package portable

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/tfproto"
	"millrace/loaders/plan"
)

// joinedModel is a model that processing is joined with.
type joinedModel struct {
	dir, key  string
	meta      *tfproto.MetaGraphDef
	signature *tfproto.SignatureDef
}

// initSignature names the operation that a program runs when it loads the model.
const initSignature = "__saved_model_init_op"

// mostModel bounds the program of a model, as protobuf does.
const mostModel = 1<<31 - 1

// readJoined reads the program of a model.
func readJoined(o *ProcessingOptions) (*joinedModel, error) {
	j := &joinedModel{dir: o.Model, key: cmp.Or(o.Signature, ValuesSignature)}
	text, err := regularfile.ReadFile(filepath.Join(o.Model, "saved_model.pb"), mostModel)
	if err != nil {
		e := millrace.Errorf(millrace.ErrIO, "read the model: %w", err)
		e.File = o.Model
		return nil, e
	}
	model := &tfproto.SavedModel{}
	if err := proto.Unmarshal(text, model); err != nil {
		return nil, j.failure("its saved_model.pb is not a SavedModel: %v", err)
	}
	for _, m := range model.MetaGraphs {
		if slices.Contains(m.GetMetaInfoDef().GetTags(), "serve") {
			j.meta = m
		}
	}
	if j.meta == nil {
		return nil, j.failure("it has no graph with the tag serve")
	}
	if j.signature = j.meta.SignatureDef[j.key]; j.signature == nil {
		return nil, j.failure("it has no signature %s; it has %q", millrace.Quote(j.key), slices.Sorted(maps.Keys(j.meta.SignatureDef)))
	}
	return j, nil
}

func (j *joinedModel) failure(format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrModel, format, args...)
	e.File = j.dir
	return e
}

// join returns the model's graph with the processing in front of it. It may change both.
func (j *joinedModel) join(p *plan.Plan, processing *tfproto.MetaGraphDef) (*tfproto.MetaGraphDef, error) {
	if p.HasLists() {
		e := millrace.Errorf(millrace.ErrConfig, "features of variable length are not joined with a model yet; export the processing alone, or serve the model with --loader")
		e.Loader = p.Path
		return nil, e
	}
	if j.meta.SignatureDef[RecordsSignature] != nil {
		return nil, j.failure("it has a signature %s already: is it joined with processing?", millrace.Quote(RecordsSignature))
	}
	nodes := map[string]*tfproto.NodeDef{}
	for _, n := range j.meta.GraphDef.Node {
		nodes[n.Name] = n
	}
	given := processing.SignatureDef[ValuesSignature].Outputs
	for _, name := range slices.Sorted(maps.Keys(j.signature.Inputs)) {
		if err := j.connect(nodes, name, given[name]); err != nil {
			return nil, err
		}
	}
	if err := j.merge(processing.GraphDef, nodes); err != nil {
		return nil, err
	}
	own, init := j.signature, j.meta.SignatureDef[initSignature]
	j.meta.SignatureDef = map[string]*tfproto.SignatureDef{}
	if init != nil {
		j.meta.SignatureDef[initSignature] = init
	}
	for key, s := range processing.SignatureDef {
		j.meta.SignatureDef[key] = &tfproto.SignatureDef{MethodName: own.MethodName, Inputs: s.Inputs, Outputs: own.Outputs}
	}
	// The objects of TensorFlow 2 describe the functions of the model alone: without them the
	// program is loaded by its signatures.
	j.meta.ObjectGraphDef = nil
	return j.meta, nil
}

// connect puts a tensor of the steps in the place of an input of the model.
func (j *joinedModel) connect(nodes map[string]*tfproto.NodeDef, name string, from *tfproto.TensorInfo) error {
	to := j.signature.Inputs[name]
	if from.Dtype != to.Dtype {
		return j.failure("input %s: the loader gives %v, and the model takes %v; a cast converts it", millrace.Quote(name), from.Dtype, to.Dtype)
	}
	if why := unlike(from.TensorShape, to.TensorShape); why != "" {
		return j.failure("input %s: %s", millrace.Quote(name), why)
	}
	node := nodes[strings.TrimSuffix(to.GetName(), ":0")]
	if node == nil || node.Op != "Placeholder" {
		return j.failure("input %s is not a placeholder, so processing cannot be joined with it", millrace.Quote(name))
	}
	// TensorFlow computes the default of a placeholder that is fed, if a function call is next to
	// it. An Identity here would put the values there, which are fed. Nobody feeds this one.
	node.Op, node.Input = "PlaceholderWithDefault", []string{from.GetName()}
	if node.Attr["shape"] == nil {
		node.Attr["shape"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Shape{Shape: to.TensorShape}}
	}
	return nil
}

// unlike says how a shape that the loader gives differs from one that the model takes.
func unlike(given, taken *tfproto.TensorShapeProto) string {
	if given.GetUnknownRank() || taken.GetUnknownRank() {
		return ""
	}
	same := len(given.GetDim()) == len(taken.GetDim())
	for i := 0; same && i < len(given.GetDim()); i++ {
		x, y := given.Dim[i].Size, taken.Dim[i].Size
		same = x == y || x < 0 || y < 0
	}
	if same {
		return ""
	}
	sizes := func(s *tfproto.TensorShapeProto) (list []int64) {
		for _, d := range s.GetDim() {
			list = append(list, d.Size)
		}
		return list
	}
	return fmt.Sprintf("the loader gives shape %v, and the model takes %v", sizes(given), sizes(taken))
}

// merge adds the nodes and functions of the processing to the model's graph.
func (j *joinedModel) merge(def *tfproto.GraphDef, nodes map[string]*tfproto.NodeDef) error {
	for _, n := range def.Node {
		if nodes[n.Name] != nil {
			return j.failure("it has a node %s, a name that processing needs", millrace.Quote(n.Name))
		}
		j.meta.GraphDef.Node = append(j.meta.GraphDef.Node, n)
	}
	if def.Library == nil {
		return nil
	}
	if j.meta.GraphDef.Library == nil {
		j.meta.GraphDef.Library = &tfproto.FunctionDefLibrary{}
	}
	known := map[string]bool{}
	for _, f := range j.meta.GraphDef.Library.Function {
		known[f.GetSignature().GetName()] = true
	}
	for _, f := range def.Library.Function {
		if name := f.GetSignature().GetName(); known[name] {
			return j.failure("it has a function %s, a name that processing needs", millrace.Quote(name))
		}
	}
	j.meta.GraphDef.Library.Function = append(j.meta.GraphDef.Library.Function, def.Library.Function...)
	return nil
}
