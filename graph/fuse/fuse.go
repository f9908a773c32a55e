// Package fuse copies a part of a graph with other tensors in place of its inputs, so
// that a model's signature becomes the continuation of a pipeline.
package fuse

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"

	"google.golang.org/protobuf/proto"
)

// TensorName is a tensor of a GraphDef: output index of node.
type TensorName struct {
	Node  string
	Index int
}

// ParseTensorName reads "node:1", "node" (output 0) or "^node" (a control
// edge, index -1).
func ParseTensorName(s string) TensorName {
	if node, ok := strings.CutPrefix(s, "^"); ok {
		return TensorName{node, -1}
	}
	if node, index, ok := strings.Cut(s, ":"); ok {
		if i, err := strconv.Atoi(index); err == nil {
			return TensorName{node, i}
		}
	}
	return TensorName{s, 0}
}

// Options select what to copy.
type Options struct {
	Feeds   map[TensorName]tfbridge.Output // the replacement of each fed tensor
	Outputs []TensorName                   // the tensors that the copy computes
	Prefix  string                         // prefix of the copies' names

	// Changing are nodes that change state. They are copied even if they depend
	// on no feed. They run after the operation After, so that the last step,
	// which finds the data at its end, changes nothing.
	Changing []string
	After    *tfbridge.Operation // nil if Changing is empty
}

// Copy copies the part of a graph that computes outputs from feeds, and returns
// the copied outputs. In the copy, other tensors of the same graph replace the
// feeds. Only nodes that depend on a feed are copied. The copy shares
// everything else with the original, most of all variables and tables. def
// describes g.
func Copy(g *tfbridge.Graph, def *tfproto.GraphDef, o *Options) ([]tfbridge.Output, error) {
	f := &fusion{graph: g, Options: o, nodes: map[string]*tfproto.NodeDef{}}
	for _, n := range def.GetNode() {
		f.nodes[n.GetName()] = n
	}
	f.markDependents(def)
	f.keepAncestors(o.Outputs)
	if err := f.importCopies(def); err != nil {
		return nil, err
	}
	fused := make([]tfbridge.Output, len(o.Outputs))
	for i, out := range o.Outputs {
		var err error
		if fused[i], err = f.resolve(out); err != nil {
			return nil, err
		}
	}
	return fused, nil
}

// GraphDef returns the description of a graph.
func GraphDef(g *tfbridge.Graph) (*tfproto.GraphDef, error) {
	var buf bytes.Buffer
	if _, err := g.WriteTo(&buf); err != nil {
		return nil, err
	}
	def := &tfproto.GraphDef{}
	if err := proto.Unmarshal(buf.Bytes(), def); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read the model's graph: %w", err)
	}
	return def, nil
}

// fusion is one copy being made.
type fusion struct {
	*Options
	graph  *tfbridge.Graph
	nodes  map[string]*tfproto.NodeDef
	copied map[string]bool
}

// fed returns the replacement of a node's input, if the input is fed. A control
// edge from a fed node waits for the replacement of any output of that node.
func (f *fusion) fed(t TensorName) (tfbridge.Output, bool) {
	if dst, ok := f.Feeds[t]; ok || t.Index >= 0 {
		return dst, ok
	}
	for feed, dst := range f.Feeds {
		if feed.Node == t.Node {
			return dst, true
		}
	}
	return tfbridge.Output{}, false
}

// markDependents finds every node that depends on a feed or on a node that
// changes state. Loops make a graph cyclic, so the walk follows edges forward
// and visits each node once.
func (f *fusion) markDependents(def *tfproto.GraphDef) {
	consumers := map[string][]string{}
	f.copied = map[string]bool{}
	queue := slices.Clone(f.Changing)
	for _, n := range def.GetNode() {
		for _, in := range n.GetInput() {
			t := ParseTensorName(in)
			if _, fed := f.fed(t); fed {
				queue = append(queue, n.GetName())
				continue
			}
			consumers[t.Node] = append(consumers[t.Node], n.GetName())
		}
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if !f.copied[name] {
			f.copied[name] = true
			queue = append(queue, consumers[name]...)
		}
	}
}

// keepAncestors drops the marks of nodes that no output needs.
func (f *fusion) keepAncestors(outputs []TensorName) {
	needed := map[string]bool{}
	var queue []string
	for _, out := range outputs {
		queue = append(queue, out.Node)
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if needed[name] {
			continue
		}
		needed[name] = true
		for _, in := range f.nodes[name].GetInput() {
			if t := ParseTensorName(in); f.copied[t.Node] {
				queue = append(queue, t.Node)
			}
		}
	}
	for name := range f.copied {
		f.copied[name] = needed[name]
	}
}

// importCopies imports the marked nodes again under the prefix.
func (f *fusion) importCopies(def *tfproto.GraphDef) error {
	part := &tfproto.GraphDef{Versions: def.GetVersions()}
	opts := tfbridge.GraphImportOptions{Prefix: f.Prefix}
	if f.After != nil {
		opts.ControlDependencies = []*tfbridge.Operation{f.After}
	}
	for _, n := range def.GetNode() {
		if !f.copied[n.GetName()] {
			continue
		}
		if err := f.mapInputs(n, &opts); err != nil {
			return err
		}
		delete(n.Attr, "_class") // it requests colocation with a node that may not be in the copy
		part.Node = append(part.Node, n)
	}
	if len(part.Node) == 0 {
		return nil
	}
	data, err := proto.Marshal(part)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "copy the signature: %w", err)
	}
	return f.graph.ImportWithOptions(data, opts)
}

// mapInputs connects the inputs of a copied node that come from outside the
// copy: to the replacement of a feed, or to the original node.
func (f *fusion) mapInputs(n *tfproto.NodeDef, opts *tfbridge.GraphImportOptions) error {
	for _, in := range n.GetInput() {
		t := ParseTensorName(in)
		if dst, fed := f.fed(t); fed {
			if t.Index < 0 {
				opts.AddControlMapping(t.Node, dst.Op)
			} else {
				opts.AddInputMapping(t.Node, t.Index, dst)
			}
			continue
		}
		if f.copied[t.Node] {
			continue
		}
		op := f.graph.Operation(t.Node)
		if op == nil {
			return millrace.Errorf(millrace.ErrModel, "node %q has an input %q that is not in the graph", n.GetName(), in)
		}
		if t.Index < 0 {
			opts.AddControlMapping(t.Node, op)
		} else {
			opts.AddInputMapping(t.Node, t.Index, op.Output(t.Index))
		}
	}
	return nil
}

// resolve returns the copy of an output, or the output itself if it was not
// copied.
func (f *fusion) resolve(out TensorName) (tfbridge.Output, error) {
	if dst, fed := f.Feeds[out]; fed {
		return dst, nil
	}
	name := out.Node
	if f.copied[name] {
		name = f.Prefix + "/" + name
	}
	op := f.graph.Operation(name)
	if op == nil || out.Index >= op.NumOutputs() {
		return tfbridge.Output{}, millrace.Errorf(millrace.ErrModel, "the graph has no tensor %s", fmt.Sprintf("%s:%d", out.Node, out.Index))
	}
	return op.Output(out.Index), nil
}
