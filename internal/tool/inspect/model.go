package inspect

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"millrace/savedmodel"
)

// ModelOptions select the part of a SavedModel to inspect. Nil and the zero value mean
// the defaults of [savedmodel.Options].
type ModelOptions struct {
	Tags []string // tags of the meta graph
}

// ModelReport describes a SavedModel.
type ModelReport struct {
	Path          string           `json:"path"`
	TensorFlow    string           `json:"tensorflow"` // the version that wrote it
	Tags          []string         `json:"tags"`       // tags of the meta graph that is described
	TagSets       [][]string       `json:"tag_sets"`   // tags of all meta graphs
	Bytes         int64            `json:"bytes"`      // size of saved_model.pb
	SHA256        string           `json:"sha256"`
	Fingerprinted bool             `json:"fingerprinted"` // the files match fingerprint.pb
	Signatures    []ModelSignature `json:"signatures"`
	Variables     []ModelVariable  `json:"variables"`
	VariableBytes int64            `json:"variable_bytes"`
	Assets        []ModelAsset     `json:"assets"`
	Operations    []OperationCount `json:"operations"` // the most frequent first
	Functions     int              `json:"functions"`
	Warnings      []string         `json:"warnings"`
	Refused       []string         `json:"refused"` // why the policy refuses the model; empty: it accepts it
}

// ModelSignature is one way to call a model.
type ModelSignature struct {
	Key     string        `json:"key"`
	Method  string        `json:"method_name"`
	Inputs  []ModelTensor `json:"inputs"`
	Outputs []ModelTensor `json:"outputs"`
	Error   string        `json:"error,omitempty"` // why it cannot be called
}

// ModelTensor is an input or output, or one component of it.
type ModelTensor struct {
	Name     string  `json:"name"`
	DType    string  `json:"dtype"`
	Shape    []int64 `json:"shape"`              // -1: unknown size; null: unknown rank
	Encoding string  `json:"encoding,omitempty"` // encoding of the input or output: "sparse", "ragged" or "composite"
	Whole    string  `json:"whole,omitempty"`    // the input or output that this is a component of
	Part     string  `json:"component,omitempty"`
	Node     string  `json:"node"`            // name in the graph
	Error    string  `json:"error,omitempty"` // why it cannot be fetched
}

// ModelVariable is a tensor that the model restores.
type ModelVariable struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"`
}

// ModelAsset is a file of the model's.
type ModelAsset struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// OperationCount is the number of nodes that run an operation.
type OperationCount struct {
	Op    string `json:"op"`
	Nodes int    `json:"nodes"`
}

// Model inspects the SavedModel in a folder. The report of a model that the policy
// refuses has the reasons. An error means that no report is possible.
func Model(dir string, o *ModelOptions) (*ModelReport, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	m, err := savedmodel.Read(dir, &savedmodel.Options{Tags: o.Tags, Unchecked: true, SkipTensorChecksums: true})
	if err != nil {
		return nil, err
	}
	r := &ModelReport{
		Path: dir, TensorFlow: m.TensorFlow, Tags: m.Tags, TagSets: m.TagSets, SHA256: m.SHA256, Fingerprinted: m.Fingerprinted,
		Bytes:  max(fileSize(dir, "saved_model.pb"), fileSize(dir, "saved_model.pbtxt")),
		Assets: []ModelAsset{}, Variables: []ModelVariable{}, Signatures: []ModelSignature{},
		Warnings: messages(m.Warnings), Refused: messages(m.Refused),
	}
	r.addSignatures(m)
	for _, v := range m.Variables {
		r.Variables = append(r.Variables, ModelVariable{Name: v.Name, DType: v.DType.String(), Shape: v.Shape.Dims(), Bytes: v.Bytes})
		r.VariableBytes += v.Bytes
	}
	for _, a := range m.Program().Assets {
		r.Assets = append(r.Assets, ModelAsset{File: a.File, Bytes: fileSize(dir, a.File)})
	}
	counts, functions := m.Operations()
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		r.Operations = append(r.Operations, OperationCount{Op: op, Nodes: counts[op]})
	}
	slices.SortStableFunc(r.Operations, func(a, b OperationCount) int { return cmp.Compare(b.Nodes, a.Nodes) })
	r.Functions = functions
	return r, nil
}

// addSignatures adds the signatures by key, including those that cannot be called.
func (r *ModelReport) addSignatures(m *savedmodel.Model) {
	for key, s := range m.Signatures {
		r.Signatures = append(r.Signatures, ModelSignature{Key: key, Method: s.Method, Inputs: modelTensors(s.Inputs), Outputs: modelTensors(s.Outputs)})
	}
	for key, err := range m.Unusable {
		r.Signatures = append(r.Signatures, ModelSignature{Key: key, Inputs: []ModelTensor{}, Outputs: []ModelTensor{}, Error: err.Error()})
	}
	slices.SortFunc(r.Signatures, func(a, b ModelSignature) int { return cmp.Compare(a.Key, b.Key) })
}

// modelTensors describes the inputs or outputs of a signature.
func modelTensors(tensors []savedmodel.Tensor) []ModelTensor {
	list := []ModelTensor{}
	for _, t := range tensors {
		described := ModelTensor{
			Name: t.Name, DType: t.DType.String(), Shape: t.Shape.Dims(), Encoding: string(t.Encoding), Whole: t.Whole, Part: t.Component, Node: t.Node,
		}
		if t.Err != nil {
			described.Error = t.Err.Error()
		}
		list = append(list, described)
	}
	return list
}

// messages returns the messages of errors, never nil.
func messages(errs []error) []string {
	list := []string{}
	for _, err := range errs {
		list = append(list, err.Error())
	}
	return list
}

// fileSize returns the size of a file in a folder, 0 if there is none.
func fileSize(dir, name string) int64 {
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	return info.Size()
}
