// Package portable writes the dataset of a plan as a graph that other processes run: Python's,
// for one, after loading the library of Millrace's operations.
//
//	g, err := portable.New(ctx, plan, scan, nil)
//	if err != nil {
//		return err // such as a plan that calls back into Go
//	}
//	err = g.Write("train.pb")
//
// Two files are written. FILE is a serialized GraphDef. One of its tensors is the dataset, a
// variant as tf.data.experimental.from_variant takes it. FILE.json says what is in it: see
// [Description].
package portable

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/base/runtimedir"
	"millrace/internal/base/tfproto"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/loaders/stage/window"
	"millrace/tfbridge"
)

// Format is the value of [Description.Format]. It changes when readers have to.
const Format = "millrace graph 1"

// Values of [Description.Batches] that stand for no count, as in tf.data.
const (
	Infinite = -1
	Unknown  = -2
)

// Description says what a graph yields, and what it was made of. Its JSON keys stay as they
// are.
type Description struct {
	Format  string `json:"format"`
	SHA256  string `json:"sha256"`  // digest of the GraphDef
	Dataset string `json:"dataset"` // name of the dataset's tensor in it

	Tensors   []Tensor `json:"tensors"`    // the components of each batch, in their order
	Batches   int64    `json:"batches"`    // how many there are; Infinite or Unknown
	BatchSize int64    `json:"batch_size"` // rows of a batch; frames of a chunked_sequence

	Config     string `json:"config"`
	Type       string `json:"type"`
	Seed       int64  `json:"seed"`
	Plan       string `json:"plan"`       // digest, as states have it
	Data       string `json:"data"`       // digest of the records, as states have it
	TensorFlow string `json:"tensorflow"` // the version that the operations are compiled for
	Operations string `json:"operations"` // file name of the library of operations
}

// Tensor is a component of a batch.
type Tensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"` // TensorFlow's name for it
	Shape []int64 `json:"shape"` // begins with the axis of the batch; -1: not known in advance
}

// Graph is a dataset as a graph.
type Graph struct {
	Description
	Def []byte // a serialized GraphDef
}

// Options are the options of [New]. Nil means the defaults.
type Options struct {
	State []byte // state of a run, at which to begin; nil: the start of the data
}

// New builds the dataset of a plan. The scan is one of the plan; ctx ends looks at the data
// files. A plan that calls back into Go
// is an error of class millrace.ErrModel that lists all stages which do.
func New(ctx context.Context, p *plan.Plan, scan *plan.Scan, o *Options) (*Graph, error) {
	if p.Window != nil && !p.HasRemoteFiles() { // a loader says so at the end of the data
		if err := window.CheckFileLengths(ctx, p.Spec, scan); err != nil {
			return nil, err
		}
	}
	ready, skipped, err := checked(ctx, p, scan)
	if err != nil {
		return nil, err
	}
	fixed := build.Fixed{Group: ready.Engine().GroupSize(scan), Prefetch: p.Prefetch, Skipped: skipped}
	before := int64(0)
	if o != nil && o.State != nil {
		at, err := beginOf(p, scan, o.State)
		if err != nil {
			return nil, err
		}
		fixed.Skip, fixed.SkipBatches, before = at.Skip, at.Batches, at.Before
		if p.Engine().Replays() && !ready.Engine().Replays() { // without checks, another operation makes the batches
			fixed.Skip, fixed.SkipBatches = 0, at.Before
		}
	}
	placed, err := absolute(ready)
	if err != nil {
		return nil, err
	}
	g := tfbridge.NewGraph()
	defer g.Close()
	d, names, err := build.Dataset(graph.NewScopeWithGraph(g), placed, scan, fixed)
	if err != nil {
		return nil, err
	}
	var def bytes.Buffer
	if _, err := g.WriteTo(&def); err != nil {
		return nil, err
	}
	out := &Graph{}
	if out.Def, err = checkCalls(p, def.Bytes()); err != nil {
		return nil, err
	}
	out.Description, err = describe(p, scan)
	if len(skipped) > 0 && out.Batches != Infinite {
		out.Batches = Unknown
	}
	if out.Batches > 0 {
		out.Batches -= before
	}
	out.SHA256 = digest(out.Def)
	out.Dataset = fmt.Sprintf("%s:%d", d.Variant().Op.Name(), d.Variant().Index)
	if err == nil {
		out.Tensors, err = tensors(d, names)
	}
	return out, err
}

// absolute returns a plan whose local files have absolute paths: the process that runs the
// graph may be in another folder.
func absolute(p *plan.Plan) (*plan.Plan, error) {
	q, s := *p, *p.Spec
	q.Spec, s.Files = &s, append([]spec.DataFile{}, s.Files...)
	for i, f := range s.Files {
		if f.Remote {
			continue
		}
		path, err := filepath.Abs(f.Path)
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrIO, "%w", err)
		}
		s.Files[i].Path = path
	}
	return &q, nil
}

// digest returns the SHA-256 of data, in hexadecimal.
func digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// describe returns what is known of a plan without its graph.
func describe(p *plan.Plan, scan *plan.Scan) (Description, error) {
	identity, err := p.Digest()
	if err != nil {
		return Description{}, err
	}
	return Description{
		Format: Format, Batches: batches(p, scan), BatchSize: p.BatchSize,
		Config: p.Path, Type: string(p.Type), Seed: p.Seed, Plan: identity, Data: scan.Digest(),
		TensorFlow: runtimedir.Pinned().Version, Operations: filepath.Base(p.NativeLibrary),
	}, nil
}

// batches returns how many batches a plan gives.
func batches(p *plan.Plan, scan *plan.Scan) int64 {
	if p.Epochs == 0 {
		return Infinite
	}
	rows, known := p.Rows(scan)
	if !known || p.Bucket != nil || p.Chunks != nil {
		return Unknown
	}
	once := *p.Spec
	once.DropRemainder = false // rows has no dropped ones
	return once.BatchCount(rows)
}

// tensors returns the components of a dataset.
func tensors(d *dataset.Dataset, names []string) ([]Tensor, error) {
	specs := d.Specs()
	if len(specs) != len(names) {
		return nil, millrace.Errorf(millrace.ErrInternal, "the dataset has %d components for %d tensors", len(specs), len(names))
	}
	list := make([]Tensor, len(specs))
	for i, s := range specs {
		shape, err := s.Shape.ToSlice()
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrInternal, "tensor %s: %w", millrace.Quote(names[i]), err)
		}
		list[i] = Tensor{Name: names[i], DType: s.DType.String(), Shape: append([]int64{}, shape...)}
	}
	return list, nil
}

// checkCalls returns the graph, encoded so that the same plan gives the same bytes. It returns an
// error if an operation calls Go. The plan has said that none does.
func checkCalls(p *plan.Plan, def []byte) ([]byte, error) {
	var g tfproto.GraphDef
	if err := proto.Unmarshal(def, &g); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "graph of the plan: %w", err)
	}
	nodes := g.Node
	for _, f := range g.GetLibrary().GetFunction() {
		nodes = append(nodes, f.NodeDef...)
	}
	for _, n := range nodes {
		switch n.Op {
		case tfbridge.OpSession, tfbridge.OpGo, tfbridge.OpGoPure:
			e := millrace.Errorf(millrace.ErrInternal, "the operation %s calls Go, though no stage of the plan should", millrace.Quote(n.Name))
			e.Loader = p.Path
			return nil, e
		}
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&g)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "graph of the plan: %w", err)
	}
	return data, nil
}
