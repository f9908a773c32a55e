// Package explain describes a dataset: as a program built it, and as TensorFlow runs
// it after its rewrites, with what a pass over it cost. [millrace/graph/dataset] makes
// the descriptions; this package turns them into text and a picture.
package explain

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

// Dataset is a description of a dataset. Its methods do not change it and may run
// concurrently.
type Dataset struct {
	Built *Stage `json:"built"` // as the program built it
	Run   *Stage `json:"run"`   // as TensorFlow runs it: after its rewrites

	Elements int64         `json:"elements,omitempty"` // elements read in the measured pass; 0: nothing was measured
	Time     time.Duration `json:"time_ns,omitempty"`  // duration of the pass
}

// Stage is one dataset of the chain or tree that a dataset consists of.
type Stage struct {
	Op          string     `json:"op"`                  // type of its operation: "ParallelMapDatasetV2"
	Node        string     `json:"node"`                // name of the node in TensorFlow's serialized dataset
	Arguments   []Argument `json:"arguments,omitempty"` // inputs that are constants
	Cardinality int64      `json:"cardinality"`         // number of elements; -1: endless, -2: unknown without reading
	Inputs      []*Stage   `json:"inputs,omitempty"`    // the datasets that it reads
	Functions   []*Stage   `json:"functions,omitempty"` // the datasets that its functions return; their cardinality is unknown
	Measured    *Measured  `json:"measured,omitempty"`  // nil if nothing was measured
}

// Argument is an input of a dataset that is a constant.
type Argument struct {
	Name  string `json:"name"`  // "buffer_size"
	Value string `json:"value"` // "100"; for several values, their number
}

// Measured has the figures of a stage in a pass. The datasets that a function returns
// are counted together.
type Measured struct {
	Datasets   int           `json:"datasets"`             // number of datasets; more than one inside functions
	Elements   int64         `json:"elements"`             // elements that they produced
	Time       time.Duration `json:"time_ns"`              // time of their threads, without the datasets that they read; a function counts with the time of its operations, without the wait for a thread
	Bytes      int64         `json:"bytes"`                // bytes of the elements that they produced
	Buffered   int64         `json:"buffered"`             // elements that they held at the end
	Parameters []Parameter   `json:"parameters,omitempty"` // parameters that they run with, such as "parallelism"
}

// Parameter is a number that a stage runs with.
type Parameter struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Autotune bool    `json:"autotune"` // TensorFlow chooses it
}

// Name is the type of the stage's operation without its version: "ParallelMap".
func (s *Stage) Name() string {
	name := strings.TrimRight(s.Op, "0123456789")
	if name != s.Op {
		name = strings.TrimSuffix(name, "V")
	}
	return strings.TrimSuffix(name, "Dataset")
}

// All returns the stages in the order in which data passes through them: the stages
// that a stage reads, and the stages of its functions, come before it.
func (s *Stage) All() []*Stage {
	if s == nil {
		return nil
	}
	var all []*Stage
	for _, in := range slices.Concat(s.Inputs, s.Functions) {
		all = append(all, in.All()...)
	}
	return append(all, s)
}

// bookkeeping are datasets that TensorFlow puts around every pipeline.
var bookkeeping = []string{"Options", "Finalize", "Model", "PrivateThreadPool", "MaxIntraOpParallelism"}

// Parse returns the stages of a dataset that DatasetToGraphV2 has serialized. define
// returns the serialized definition of an operation type; where it fails, the inputs
// have no names and are omitted.
func Parse(graph []byte, define func(opType string) ([]byte, error)) (*Stage, error) {
	g := &tfproto.GraphDef{}
	if err := proto.Unmarshal(graph, g); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read the graph of the dataset: %w", err)
	}
	p := parser{functions: map[string]*tfproto.FunctionDef{}, define: define}
	for _, f := range g.GetLibrary().GetFunction() {
		p.functions[f.GetSignature().GetName()] = f
	}
	nodes := named(g.GetNode())
	for _, n := range g.GetNode() {
		if n.GetOp() == "_Retval" && len(n.GetInput()) == 1 {
			if s := p.stage(nodes, producer(n.GetInput()[0])); s != nil {
				return s, nil
			}
		}
	}
	return nil, millrace.Errorf(millrace.ErrInternal, "the graph of the dataset has no result")
}

// parser makes stages of nodes.
type parser struct {
	functions map[string]*tfproto.FunctionDef
	define    func(opType string) ([]byte, error)
}

// stage returns the stage of a node, nil if the node is not a dataset. Bookkeeping is
// skipped.
func (p *parser) stage(nodes map[string]*tfproto.NodeDef, name string) *Stage {
	n := nodes[name]
	if !isDataset(n) {
		return nil
	}
	s := &Stage{Op: n.GetOp(), Node: name, Arguments: p.arguments(nodes, n), Cardinality: unknown}
	for _, in := range n.GetInput() {
		if input := p.stage(nodes, producer(in)); input != nil {
			s.Inputs = append(s.Inputs, input)
		}
	}
	if len(s.Inputs) == 1 && slices.Contains(bookkeeping, s.Name()) {
		return s.Inputs[0]
	}
	s.Functions = p.returned(n)
	return s
}

// same reports whether two trees are of equal stages.
func same(a, b *Stage) bool {
	return a.Op == b.Op && slices.Equal(a.Arguments, b.Arguments) &&
		slices.EqualFunc(a.Inputs, b.Inputs, same) && slices.EqualFunc(a.Functions, b.Functions, same)
}

// unknown is the cardinality of a dataset that has to be read to be counted.
const unknown = -2

// returned returns the datasets that the functions of a node return.
func (p *parser) returned(n *tfproto.NodeDef) []*Stage {
	var all []*Stage
	attrs := n.GetAttr()
	names := make([]string, 0, len(attrs))
	for name := range attrs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := p.functions[attrs[name].GetFunc().GetName()]
		nodes := named(f.GetNodeDef())
		for _, result := range f.GetSignature().GetOutputArg() {
			if s := p.stage(nodes, producer(f.GetRet()[result.GetName()])); s != nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// isDataset reports whether a node's result is a dataset.
func isDataset(n *tfproto.NodeDef) bool {
	return strings.Contains(n.GetOp(), "Dataset")
}

// named returns nodes by name.
func named(nodes []*tfproto.NodeDef) map[string]*tfproto.NodeDef {
	byName := make(map[string]*tfproto.NodeDef, len(nodes))
	for _, n := range nodes {
		byName[n.GetName()] = n
	}
	return byName
}

// producer returns the node that an input comes from: "x" for "x:0" and "x:handle:0",
// "" for a control input.
func producer(input string) string {
	if strings.HasPrefix(input, "^") {
		return ""
	}
	name, _, _ := strings.Cut(input, ":")
	return name
}
