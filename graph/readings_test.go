package graph_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

var (
	mutants    = flag.Int("mutants", 2000, "how many changed graphs both readers get")
	mutantSeed = flag.Uint64("mutant-seed", 1, "which ones")
)

// reading compares how package savedmodel and TensorFlow read the same bytes.
type reading struct {
	*mutator
	graphs  [][]byte // GraphDefs of the models
	options *savedmodel.Options

	accepted, parsed, imported int
}

// newReading takes the graphs of the test models. Every operation is allowed, so that
// graphs are read to their ends.
func newReading(t testing.TB) *reading {
	r := &reading{mutator: &mutator{}, options: &savedmodel.Options{}}
	files, err := filepath.Glob(filepath.Join(models, "*", "saved_model.pb"))
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	allow := func(nodes []*tfproto.NodeDef) {
		for _, n := range nodes {
			allowed[n.Op] = true
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var m tfproto.SavedModel
		if err := proto.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(filepath.Dir(file)); strings.HasPrefix(name, "writes_") || name == "recursive" {
			continue // importing them may do what they are named for
		}
		graph := m.MetaGraphs[0].GraphDef
		allow(graph.Node)
		for _, f := range graph.Library.GetFunction() {
			allow(f.NodeDef)
		}
		def, err := proto.MarshalOptions{Deterministic: true}.Marshal(graph)
		if err != nil {
			t.Fatal(err)
		}
		r.graphs = append(r.graphs, def)
		r.collect(def, graph.ProtoReflect().Descriptor())
	}
	for op := range allowed {
		r.options.AllowOps = append(r.options.AllowOps, op)
	}
	return r
}

// try makes mutant i, and returns an error if the two readers differ.
func (r *reading) try(seed uint64, i int) error {
	r.rng = rand.New(rand.NewPCG(seed, uint64(i)))
	raw := r.graphs[r.rng.IntN(len(r.graphs))]
	for range 1 + r.rng.IntN(3) {
		raw = r.mutate(raw, (&tfproto.GraphDef{}).ProtoReflect().Descriptor())
	}
	def, err := savedmodel.CheckGraph("mutant", raw, r.options)
	if err != nil {
		if !errors.Is(err, millrace.ErrModel) && !errors.Is(err, millrace.ErrUnsafeModel) {
			return fmt.Errorf("an error of no class: %w", err)
		}
		return nil
	}
	r.accepted++
	var read tfproto.GraphDef
	if err := proto.Unmarshal(def, &read); err != nil {
		return fmt.Errorf("the canonical form: %w", err)
	}
	if err := r.parse(raw, &read); err != nil {
		return err
	}
	return r.load(def, &read)
}

// parse has TensorFlow's parser read the original bytes: the functions, and the nodes
// as the body of one.
func (r *reading) parse(raw []byte, read *tfproto.GraphDef) error {
	var functions [][]byte
	body := rawField(nil, 1, rawField(nil, 1, []byte("nodes")))
	for _, s := range spans(raw) {
		content := raw[s.content:s.end]
		switch s.num {
		case 1:
			body = rawField(body, 3, content)
		case 2:
			for _, f := range spans(content) {
				if f.num == 1 {
					functions = append(functions, content[f.content:f.end])
				}
			}
		}
	}
	want := append(slices.Clone(read.Library.GetFunction()), &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: "nodes"}, NodeDef: read.Node})
	functions = append(functions, body)
	if len(functions) != len(want) {
		return fmt.Errorf("%d functions in the bytes, %d read", len(functions), len(want))
	}
	for i, def := range functions {
		f, err := tfbridge.ImportFunction(def)
		if err != nil {
			return fmt.Errorf("TensorFlow cannot parse function %q, which is accepted: %w", want[i].Signature.Name, err)
		}
		got, err := f.Def()
		f.Close()
		if err != nil {
			return err
		}
		var theirs tfproto.FunctionDef
		if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(got, &theirs); err != nil {
			return err
		}
		if !proto.Equal(&theirs, want[i]) {
			return fmt.Errorf("function %q is read differently:\nTensorFlow %v\nGo         %v", want[i].Signature.Name, &theirs, want[i])
		}
		r.parsed++
	}
	return nil
}

// load has TensorFlow import what a model would be loaded from.
func (r *reading) load(def []byte, read *tfproto.GraphDef) error {
	g := tfbridge.NewGraph()
	defer g.Close()
	if len(def) == 0 || g.Import(def, "") != nil {
		return nil // it does not fit together, which TensorFlow says
	}
	r.imported++
	var out bytes.Buffer
	if _, err := g.WriteTo(&out); err != nil {
		return err
	}
	var theirs tfproto.GraphDef
	if err := proto.Unmarshal(out.Bytes(), &theirs); err != nil {
		return err
	}
	if len(theirs.Node) != len(read.Node) || len(theirs.Library.GetFunction()) != len(read.Library.GetFunction()) {
		return fmt.Errorf("TensorFlow has %d operations and %d functions, Go %d and %d",
			len(theirs.Node), len(theirs.Library.GetFunction()), len(read.Node), len(read.Library.GetFunction()))
	}
	if err := sameNodes("the graph", theirs.Node, read.Node); err != nil {
		return err
	}
	functions := map[string]*tfproto.FunctionDef{}
	for _, f := range theirs.Library.GetFunction() {
		functions[f.Signature.GetName()] = f
	}
	for _, f := range read.Library.GetFunction() {
		if err := sameNodes(f.Signature.GetName(), functions[f.Signature.GetName()].GetNodeDef(), f.NodeDef); err != nil {
			return err
		}
	}
	return nil
}

// sameNodes compares nodes with those that TensorFlow has. It adds defaults of
// attributes and drops those that begin with an underscore, which are TensorFlow's own.
func sameNodes(where string, theirs, ours []*tfproto.NodeDef) error {
	nodes := map[string]*tfproto.NodeDef{}
	for _, n := range theirs {
		nodes[n.Name] = n
	}
	for _, n := range ours {
		got := nodes[n.Name]
		if got == nil || got.Op != n.Op || !slices.Equal(inputsOf(got), inputsOf(n)) {
			return fmt.Errorf("%s: TensorFlow has %v\nGo %v", where, got, n)
		}
		for name, v := range n.Attr {
			if have, ok := got.Attr[name]; !strings.HasPrefix(name, "_") && (!ok || !proto.Equal(have, v)) {
				return fmt.Errorf("%s: node %q: attribute %q: TensorFlow has %v, Go %v", where, n.Name, name, have, v)
			}
		}
	}
	return nil
}

// inputsOf returns a node's inputs in one spelling and order.
func inputsOf(n *tfproto.NodeDef) []string {
	var in, control []string
	for _, i := range n.Input {
		if strings.HasPrefix(i, "^") {
			control = append(control, i)
			continue
		}
		if node, port, ok := strings.Cut(i, ":"); ok {
			if k, err := strconv.Atoi(port); err == nil {
				i = node
				if k != 0 {
					i += ":" + strconv.Itoa(k)
				}
			}
		}
		in = append(in, i)
	}
	slices.Sort(control)
	return append(in, slices.Compact(control)...)
}

// TestReadings gives both readers changed graphs, in a separate process. Graphs that
// end the process are counted, and a new process continues after them.
func TestReadings(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for from, deaths := 0, 0; from < *mutants; {
		cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestReadingsChild$", "-test.v", "-test.timeout=0",
			"-mutants", strconv.Itoa(*mutants), "-mutant-seed", strconv.FormatUint(*mutantSeed, 10))
		cmd.Env = append(os.Environ(), "MILLRACE_TEST_PLACE="+place, "MILLRACE_TEST_FROM="+strconv.Itoa(from), "TF_CPP_MIN_LOG_LEVEL=3")
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Logf("%s", out)
			break
		}
		at, _ := os.ReadFile(place)
		i, n := protowire.ConsumeFixed64(at)
		if bytes.Contains(out, []byte("--- FAIL")) || n < 0 || deaths == 100 {
			t.Fatalf("%v\n%s", err, out)
		}
		deaths++
		t.Errorf("mutant %d of seed %d ends the process: %v\n%s", i, *mutantSeed, err, out[:min(len(out), 1000)])
		from = int(i) + 1
	}
}

// TestReadingsChild is that process.
func TestReadingsChild(t *testing.T) {
	name := os.Getenv("MILLRACE_TEST_PLACE")
	if name == "" {
		t.Skip("a part of TestReadings")
	}
	from, err := strconv.Atoi(os.Getenv("MILLRACE_TEST_FROM"))
	if err != nil {
		t.Fatal(err)
	}
	place, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	r := newReading(t)
	different := 0
	for i := from; i < *mutants; i++ {
		if _, err := place.WriteAt(protowire.AppendFixed64(nil, uint64(i)), 0); err != nil {
			t.Fatal(err)
		}
		if err := r.try(*mutantSeed, i); err != nil {
			t.Errorf("mutant %d of seed %d: %v", i, *mutantSeed, err)
			if different++; different == 10 {
				break
			}
		}
	}
	t.Logf("mutants %d to %d: %d accepted, %d functions parsed by both, %d graphs imported", from, *mutants, r.accepted, r.parsed, r.imported)
}
