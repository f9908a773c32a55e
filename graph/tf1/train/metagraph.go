package train

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/inputcheck"
	pb "millrace/internal/base/tfproto"
	"millrace/internal/base/wire"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// The keys of TensorFlow's collections: the operation that initializes the local variables,
// and the variables.
const (
	localInitOp    = "local_init_op"
	localVariables = "local_variables"
)

// ImportMetaGraph checks the graph of a MetaGraphDef in a file of
// tf.compat.v1.train.export_meta_graph, and returns a scope of a new graph with its
// operations. The caller closes the graph.
//
// The scope has the collections that name operations or outputs of the graph: for example
// "summaries", and "init_op", whose operation initializes the variables that a checkpoint
// does not restore. The operation of "local_init_op" is an initializer of the scope;
// without one the initializers of "local_variables" are. The QueueRunners of
// "queue_runners" become the scope's, so that [NewMonitoredSession] starts them. In another
// session a dequeue waits forever unless they were started, as in Python.
//
// A graph that reads files is refused unless Options.AllowOps names the operations,
// such as "TFRecordReaderV2" or "MatchingFiles". Errors are those of
// [savedmodel.ReadGraph].
//
// It wraps TF_GraphImportGraphDef.
func ImportMetaGraph(file string, o *savedmodel.Options) (*graph.Scope, error) {
	data, def, err := savedmodel.ReadMetaGraph(file, o)
	if err != nil {
		return nil, err
	}
	var meta pb.MetaGraphDef
	if err := proto.Unmarshal(data, &meta); err != nil {
		return nil, graph.ModelError(file, "", err)
	}
	if _, err := tfbridge.Open(nil); err != nil {
		return nil, err
	}
	if def, err = inputcheck.Insert(def, inputcheck.Options{Compile: true}); err != nil {
		return nil, graph.ModelError(file, "", err)
	}
	s := graph.NewScope()
	if err = s.Graph().Import(def, ""); err == nil {
		err = addCollections(s, meta.CollectionDef)
	}
	if err != nil {
		s.Graph().Close()
		e := millrace.Errorf(millrace.ErrModel, "%w", err)
		e.File = file
		return nil, e
	}
	return s, nil
}

// addCollections adds the contents of a MetaGraphDef's collections to a scope.
func addCollections(s *graph.Scope, all map[string]*pb.CollectionDef) error {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		for _, name := range all[key].GetNodeList().GetValue() {
			value, err := named(s.Graph(), name)
			if err != nil {
				return millrace.Errorf(millrace.ErrModel, "collection %q: %w", key, err)
			}
			s.AddToCollection(key, value)
			if op, ok := value.(*tfbridge.Operation); ok && key == localInitOp {
				s.AddInitializer(op)
			}
		}
	}
	if len(s.Initializers()) == 0 {
		if err := addInitializers(s, all[localVariables].GetBytesList().GetValue()); err != nil {
			return err
		}
	}
	for _, def := range all[queueRunners].GetBytesList().GetValue() {
		r, err := runnerOf(s.Graph(), def)
		if err != nil {
			return millrace.Errorf(millrace.ErrModel, "collection %q: %w", queueRunners, err)
		}
		AddQueueRunner(s, r)
	}
	return s.Err()
}

// addInitializers adds the initializers of variables to the scope. Each of defs is a
// serialized VariableDef.
func addInitializers(s *graph.Scope, defs [][]byte) error {
	for _, def := range defs {
		var v pb.VariableDef
		if err := proto.Unmarshal(def, &v); err != nil {
			return millrace.Errorf(millrace.ErrModel, "collection %q: %w", localVariables, err)
		}
		value, err := named(s.Graph(), v.InitializerName)
		op, ok := value.(*tfbridge.Operation)
		if err == nil && !ok {
			err = millrace.Errorf(millrace.ErrModel, "%q is no operation", v.InitializerName)
		}
		if err != nil {
			return millrace.Errorf(millrace.ErrModel, "collection %q: the initializer of %q: %w", localVariables, v.VariableName, err)
		}
		s.AddInitializer(op)
	}
	return nil
}

// named returns the output or operation of a graph with a name such as "x:0" or "x".
func named(g *tfbridge.Graph, name string) (any, error) {
	opName, index, isOutput := strings.Cut(name, ":")
	op := g.Operation(strings.TrimPrefix(opName, "^"))
	if op == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "the graph has no operation %q", opName)
	}
	if !isOutput {
		return op, nil
	}
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= op.NumOutputs() {
		return nil, millrace.Errorf(millrace.ErrModel, "operation %q has no output %q", opName, index)
	}
	return op.Output(i), nil
}

// The fields of a QueueRunnerDef.
const (
	runnerQueue       = 1
	runnerEnqueueOps  = 2
	runnerCloseOp     = 3
	runnerCancelOp    = 4
	runnerClosedCodes = 5
)

// runnerOf decodes a serialized QueueRunnerDef.
func runnerOf(g *tfbridge.Graph, def []byte) (*QueueRunner, error) {
	r := &QueueRunner{running: map[*tfbridge.Session]bool{}, pool: true}
	var problem error
	operation := func(name []byte) *tfbridge.Operation {
		value, err := named(g, string(name))
		op, ok := value.(*tfbridge.Operation)
		if err == nil && !ok {
			err = millrace.Errorf(millrace.ErrModel, "%q is no operation", name)
		}
		if problem == nil {
			problem = err
		}
		return op
	}
	whole := wire.Each(def, func(num protowire.Number, bytes []byte, number uint64) bool {
		switch num {
		case runnerQueue:
			r.name = string(bytes)
		case runnerEnqueueOps:
			r.enqueueOps = append(r.enqueueOps, operation(bytes))
		case runnerCloseOp:
			r.closeOp = operation(bytes)
		case runnerCancelOp:
			r.cancelOp = operation(bytes)
		case runnerClosedCodes:
			r.closed = append(r.closed, closedCodes(bytes, number)...)
		}
		return true
	})
	switch {
	case problem != nil:
		return nil, millrace.Errorf(millrace.ErrModel, "the QueueRunnerDef of queue %q: %w", r.name, problem)
	case !whole, r.closeOp == nil, r.cancelOp == nil, len(r.enqueueOps) == 0:
		return nil, millrace.Errorf(millrace.ErrModel, "the QueueRunnerDef of queue %q is damaged or incomplete", r.name)
	case len(r.closed) == 0: // written before TensorFlow had the field
		r.closed = []tfbridge.Code{tfbridge.OutOfRange}
	}
	return r, nil
}

// closedCodes returns the codes of one field: packed in bytes, or a single number.
func closedCodes(bytes []byte, number uint64) []tfbridge.Code {
	if bytes == nil {
		return []tfbridge.Code{tfbridge.Code(number)}
	}
	var codes []tfbridge.Code
	for len(bytes) > 0 {
		code, n := protowire.ConsumeVarint(bytes)
		if n < 0 {
			break
		}
		codes, bytes = append(codes, tfbridge.Code(code)), bytes[n:]
	}
	return slices.Clip(codes)
}
