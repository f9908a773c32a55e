package portable

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/tfproto"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// # Processing as a model
//
// The question: what a config does to examples before a model sees them has to be done in serving
// as well, by whatever serves the model. Written a second time it becomes something else.
//
// The answer: the steps are written as a SavedModel, from the same plan and by the same functions
// that build the loader. Signature serving_default takes the values of the features, and examples
// takes serialized Examples.
//
// The values are placeholders with a default, the values of the records. So one graph serves both:
//
//	records ── parse ── values ── steps ── tensors ── the model ── outputs
//	fed by              fed by
//	examples            serving_default
//
// Joined with a model, these signatures end in the model's outputs: the tensors take the place of
// the placeholders of its signature, and the rest of its graph stays as it is. The model's other
// signatures are not in the result, because some of their placeholders are gone.

// The signatures of exported processing.
const (
	ValuesSignature  = "serving_default"
	RecordsSignature = "examples"
	RecordsInput     = "inputs" // the input of RecordsSignature, where Classify and Regress look for it
)

// ProcessingOptions are the options of [WriteProcessing]. Nil means the defaults.
type ProcessingOptions struct {
	Tensors []string // the tensors to give; none: all. With a model they are its inputs

	Model     string // folder of a SavedModel to join the processing with; "": none
	Signature string // key of the model's signature; "": serving_default
}

// WriteProcessing writes what a plan does to examples as a SavedModel to a new folder, whole or not
// at all: TensorFlow Serving, Python and Millrace load it. Filters keep all examples. Random steps
// are an error of class millrace.ErrConfig: a model gives the same for the same values.
func WriteProcessing(p *plan.Plan, dir string, o *ProcessingOptions) error {
	if o == nil {
		o = &ProcessingOptions{}
	}
	var joined *joinedModel
	tensors := o.Tensors
	if o.Model != "" {
		var err error
		if joined, err = readJoined(o); err != nil {
			return err
		}
		tensors = slices.Sorted(maps.Keys(joined.signature.Inputs))
	}
	if err := exportable(p, tensors); err != nil {
		return err
	}
	meta, err := processingGraph(plan.Only(p, tensors))
	if err != nil {
		return err
	}
	if joined != nil {
		if meta, err = joined.join(p, meta); err != nil {
			return err
		}
	}
	return writeModel(dir, o.Model, meta)
}

// exportable returns an error for a plan whose processing is no function of the examples, or which
// lacks a tensor.
func exportable(p *plan.Plan, tensors []string) error {
	for _, name := range tensors {
		var names []string
		for _, t := range p.Tensors {
			names = append(names, t.Name)
		}
		if !slices.Contains(names, name) {
			e := millrace.Errorf(millrace.ErrConfig, "the loader has no tensor %s; it has %q", millrace.Quote(name), names)
			e.Loader = p.Path
			return e
		}
	}
	for _, s := range plan.Only(p, tensors).Steps {
		if s.Random {
			e := millrace.Errorf(millrace.ErrConfig, "the step %s draws random numbers, and a model gives the same for the same values: remove its \"when\", or use mode eval", s.Type)
			e.Loader, e.Key = p.Path, "args.processing_steps"
			return e
		}
	}
	return nil
}

// processingGraph builds the processing of a plan under a prefix that no model uses.
func processingGraph(p *plan.Plan) (*tfproto.MetaGraphDef, error) {
	g := tfbridge.NewGraph()
	defer g.Close()
	e, err := build.Export(graph.NewScopeWithGraph(g).SubScope("millrace_processing"), p)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if _, err := g.WriteTo(&text); err != nil {
		return nil, err
	}
	def := &tfproto.GraphDef{}
	if err := proto.Unmarshal(text.Bytes(), def); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read a graph: %w", err)
	}
	records := []steps.NamedOutput{{Name: RecordsInput, Output: e.Records}}
	return &tfproto.MetaGraphDef{
		MetaInfoDef: &tfproto.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}}, GraphDef: def,
		SignatureDef: map[string]*tfproto.SignatureDef{
			RecordsSignature: signatureOf(infos(records), infos(e.OfRecords)),
			ValuesSignature:  signatureOf(infos(e.Values), infos(e.OfValues)),
		},
	}, nil
}

func signatureOf(inputs, outputs map[string]*tfproto.TensorInfo) *tfproto.SignatureDef {
	return &tfproto.SignatureDef{MethodName: "tensorflow/serving/predict", Inputs: inputs, Outputs: outputs}
}

// infos describes tensors in the form of a SavedModel.
func infos(list []steps.NamedOutput) map[string]*tfproto.TensorInfo {
	all := map[string]*tfproto.TensorInfo{}
	for _, t := range list {
		shape := &tfproto.TensorShapeProto{UnknownRank: t.Output.Shape().NumDimensions() < 0}
		for _, size := range t.Output.Shape().Dims() {
			shape.Dim = append(shape.Dim, &tfproto.TensorShapeProto_Dim{Size: size})
		}
		all[t.Name] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: t.Output.String()}, Dtype: tfproto.DataType(t.Output.DataType()), TensorShape: shape}
	}
	return all
}

// writeModel writes a SavedModel, with the other files of a model unless from is "".
func writeModel(dir, from string, meta *tfproto.MetaGraphDef) error {
	failure := func(err error) error {
		e := millrace.Errorf(millrace.ErrIO, "%w", err)
		e.Op, e.File = "write the model", dir
		return e
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return failure(errors.New("there is something of this name already"))
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(&tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*tfproto.MetaGraphDef{meta}})
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "write a model: %w", err)
	}
	aside, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tmp")
	if err != nil {
		return failure(err)
	}
	defer os.RemoveAll(aside)
	if err := os.Chmod(aside, 0o755); err != nil {
		return failure(err)
	}
	for _, folder := range []string{"variables", "assets", "assets.extra"} {
		if from == "" {
			break
		}
		part := filepath.Join(from, folder)
		if _, err := os.Stat(part); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.CopyFS(filepath.Join(aside, folder), os.DirFS(part)); err != nil {
			return failure(err)
		}
	}
	if err := atomicfile.Write(filepath.Join(aside, "saved_model.pb"), text, 0o666); err != nil {
		return failure(err)
	}
	if err := atomicfile.RenameNew(aside, dir); err != nil {
		return failure(atomicfile.Cause(err))
	}
	return nil
}
