package gradients

import (
	"hash/fnv"
	"slices"

	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// A random operation of TensorFlow 1, which tf.nn.dropout adds, has a generator in its
// kernel. Each run takes the next numbers. No checkpoint has the generator's position, so a
// training that is resumed would draw the first numbers again. Opened, the operation
// becomes one without state whose position follows from the number of steps:
//
//	RandomUniform(shape) {seed, seed2}  -->  StatelessRandomUniformV2(shape, key, counter, philox)
//	key     = [seed]
//	counter = [steps * size of shape * 256, seed2]
//
// These are the numbers that the kernel draws, too: it seeds Philox with seed and seed2,
// and skips 256 blocks for each element that it has drawn. So a model trained with
// tf.random.set_seed sees the same numbers as in Python, as long as all batches have the
// same size.

// Random determines the random numbers of an opened graph.
type Random struct {
	Step tfbridge.Output // an int64 scalar: how many times the graph has run before
	Seed int64           // seeds operations to which the model gives no seed
}

// statelessTypes maps operations with state to operations without state that draw the same numbers.
var statelessTypes = map[string]string{
	"RandomUniform": "StatelessRandomUniformV2", "RandomStandardNormal": "StatelessRandomNormalV2",
	"TruncatedNormal": "StatelessTruncatedNormalV2", "RandomUniformInt": "StatelessRandomUniformIntV2",
}

// statefulRandom are other types of random operations with state.
var statefulRandom = []string{
	"RandomShuffle", "Multinomial", "RandomGamma", "RandomPoisson", "RandomPoissonV2", "ParameterizedTruncatedNormal",
	"RandomCrop", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2",
}

// randomStep is the name under which the new nodes find Random.Step.
const randomStep = "millrace_random_step"

// random replaces random operations.
type random struct {
	lib       *library
	o         *Random // nil: random operations are not replaced
	rewritten bool
	left      []string // random operations that keep their state
}

func newRandom(im *importer, o *Random) *random {
	if o != nil {
		im.bind(ref{randomStep, 0}, o.Step, false)
	}
	return &random{lib: im.lib, o: o}
}

// rewrite returns nodes with replaced random operations. Those in loops and conditions
// stay.
func (r *random) rewrite(nodes []*tfproto.NodeDef) []*tfproto.NodeDef {
	var all []*tfproto.NodeDef
	for _, n := range nodes {
		if stateless := statelessTypes[n.Op]; stateless != "" && r.o != nil {
			all = append(all, r.counter(n, stateless)...)
			r.rewritten = true
		} else {
			r.note(n, map[string]bool{})
		}
		all = append(all, n)
	}
	return all
}

// note records a node that is a stateful random operation, or that calls a function
// with one.
func (r *random) note(n *tfproto.NodeDef, seen map[string]bool) {
	if (statelessTypes[n.Op] != "" || slices.Contains(statefulRandom, n.Op)) && !slices.Contains(r.left, n.Name) {
		r.left = append(r.left, n.Name)
	}
	for _, name := range called(n) {
		if f := r.lib.functions[name]; f != nil && !seen[name] {
			seen[name] = true
			for _, inner := range f.GetNodeDef() {
				r.note(inner, seen)
			}
		}
	}
}

// counter turns a random operation into one without state, and returns the nodes that
// compute its key and counter.
func (r *random) counter(n *tfproto.NodeDef, stateless string) []*tfproto.NodeDef {
	seed, seed2 := n.Attr["seed"].GetI(), n.Attr["seed2"].GetI()
	if seed == 0 && seed2 == 0 {
		h := fnv.New64a()
		h.Write([]byte(n.Name))
		seed, seed2 = r.o.Seed, int64(h.Sum64())
	}
	at := n.Name + "/random/"
	shape := n.Input[0]
	nodes := []*tfproto.NodeDef{
		constNode(at+"key", dtype.Uint64, []int64{1}, uint64(seed)),
		constNode(at+"seed2", dtype.Uint64, nil, uint64(seed2)),
		constNode(at+"blocks", dtype.Int64, nil, 256),
		constNode(at+"axis", dtype.Int32, nil, 0),
		constNode(at+"philox", dtype.Int32, nil, 1),
		newNode(at+"shape", "Cast", attrTypes{"SrcT": tfbridge.DataType(n.Attr["T"].GetType()), "DstT": dtype.Int64}, shape),
		newNode(at+"size", "Prod", attrTypes{"T": dtype.Int64, "Tidx": dtype.Int32}, at+"shape", at+"axis"),
		newNode(at+"drawn", "Mul", attrTypes{"T": dtype.Int64}, at+"size", randomStep),
		newNode(at+"skipped", "Mul", attrTypes{"T": dtype.Int64}, at+"drawn", at+"blocks"),
		newNode(at+"low", "Cast", attrTypes{"SrcT": dtype.Int64, "DstT": dtype.Uint64}, at+"skipped"),
		newNode(at+"counter", "Pack", attrTypes{"T": dtype.Uint64}, at+"low", at+"seed2"),
	}
	nodes[len(nodes)-1].Attr["N"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: 2}}
	value := n.Attr["dtype"]
	if n.Op == "RandomUniformInt" {
		value = n.Attr["Tout"]
	}
	attrs := map[string]*tfproto.AttrValue{"dtype": value, "Tshape": n.Attr["T"]}
	n.Input = slices.Concat([]string{shape, at + "key", at + "counter", at + "philox"}, n.Input[1:])
	n.Op, n.Attr = stateless, attrs
	return nodes
}

// attrTypes are attributes that are data types.
type attrTypes map[string]tfbridge.DataType

// newNode returns a node.
func newNode(name, op string, types attrTypes, inputs ...string) *tfproto.NodeDef {
	n := &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*tfproto.AttrValue{}}
	for key, dt := range types {
		n.Attr[key] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: tfproto.DataType(dt)}}
	}
	return n
}

// constNode returns a constant with one element.
func constNode(name string, dt tfbridge.DataType, shape []int64, value uint64) *tfproto.NodeDef {
	t := &tfproto.TensorProto{Dtype: tfproto.DataType(dt), TensorShape: &tfproto.TensorShapeProto{}}
	for _, size := range shape {
		t.TensorShape.Dim = append(t.TensorShape.Dim, &tfproto.TensorShapeProto_Dim{Size: size})
	}
	switch dt {
	case dtype.Uint64:
		t.Uint64Val = []uint64{value}
	case dtype.Int64:
		t.Int64Val = []int64{int64(value)}
	default:
		t.IntVal = []int32{int32(value)}
	}
	n := newNode(name, "Const", attrTypes{"dtype": dt})
	n.Attr["value"] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: t}}
	return n
}
