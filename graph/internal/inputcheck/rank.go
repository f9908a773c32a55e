package inputcheck

import (
	"fmt"
	"strings"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// ensureRank inserts an EnsureShape before an input that must have a given rank. It is
// TensorFlow's own operation: it has kernels for all devices and copies nothing, and so
// costs little before a convolution.
func (c *check) ensureRank(input, rank int) []*tfproto.NodeDef {
	n := c.node
	if !strings.HasPrefix(n.GetOp(), "FusedBatchNorm") {
		return []*tfproto.NodeDef{c.ensure(input, c.types[input], rank)}
	}
	// The rewrites for oneDNN read four dimensions of a shape that was inferred, whatever its
	// rank is.
	return []*tfproto.NodeDef{c.hideShape(input), c.ensure(input, c.types[input], rank)}
}

// hideShape inserts an operation before an input that hides its shape.
func (c *check) hideShape(input int) *tfproto.NodeDef {
	n := c.node
	hide := &tfproto.NodeDef{Name: c.name(rankName), Op: tfbridge.OpHideShape, Device: n.GetDevice(), Input: []string{n.GetInput()[input]},
		Attr: map[string]*tfproto.AttrValue{"T": {Value: &tfproto.AttrValue_Type{Type: c.types[input]}}}}
	n.Input[input] = c.ref(hide.GetName(), "same")
	return hide
}

// ensure does the same for an input of a dtype.
func (c *check) ensure(input int, dt tfproto.DataType, rank int) *tfproto.NodeDef {
	shape := &tfproto.TensorShapeProto{}
	for range rank {
		shape.Dim = append(shape.Dim, &tfproto.TensorShapeProto_Dim{Size: -1})
	}
	n := c.node
	made := &tfproto.NodeDef{Name: c.name(rankName), Op: "EnsureShape", Device: n.GetDevice(), Input: []string{n.GetInput()[input]},
		Attr: map[string]*tfproto.AttrValue{
			"T":     {Value: &tfproto.AttrValue_Type{Type: dt}},
			"shape": {Value: &tfproto.AttrValue_Shape{Shape: shape}},
		}}
	n.Input[input] = c.ref(made.GetName(), "output")
	return made
}

// rankOf is a tensor whose rank is checked.
type rankOf struct {
	name        string // the name of the check
	op, node    string // the operation that takes the tensor, and its name
	tensor      string
	dt          tfproto.DataType
	input, most int
	function    *tfproto.OpDef // nil: the graph itself
}

// rankCheck returns the nodes that check the rank of a tensor, and the name of the tensor that they pass
// on. The check cannot pass on a variant: it then checks a Rank, and the name is empty.
func rankCheck(r rankOf) (made []*tfproto.NodeDef, passed string) {
	spec := tfbridge.ArgumentsSpec{Op: r.op, Node: r.node, Inputs: []int{r.input}, Rules: []string{fmt.Sprintf("rank(%d)<=%d", r.input, r.most)}}
	check := &tfproto.NodeDef{Name: r.name, Op: tfbridge.OpCheckArguments, Input: []string{r.tensor}}
	of, ref := r.dt, (&checked{function: r.function}).ref
	if !copyable(r.dt) {
		rank := &tfproto.NodeDef{Name: r.name + rankSuffix, Op: "Rank", Input: []string{r.tensor}, Attr: map[string]*tfproto.AttrValue{"T": {Value: &tfproto.AttrValue_Type{Type: r.dt}}}}
		spec.Rules = []string{fmt.Sprintf("value(%d)<=%d", r.input, r.most)}
		of, check.Input = tfproto.DataType_DT_INT32, []string{ref(rank.GetName(), "output")}
		made = append(made, rank)
	}
	check.Attr = map[string]*tfproto.AttrValue{
		"check":   text(tfbridge.CheckSpec{Parser: r.node, Arguments: &spec}.Attr()),
		"T":       {Value: &tfproto.AttrValue_Type{Type: of}},
		"Tothers": {Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{}}},
	}
	if made = append(made, check); copyable(r.dt) {
		passed = ref(r.name, "checked")
	}
	return made, passed
}

// lists are operations with lists of inputs, some of which must have a given rank.
var lists = words(`ParseExample RaggedGather`)

// ensureLists ensures the ranks of the inputs of an operation with lists of inputs.
func (c *check) ensureLists() ([]*tfproto.NodeDef, error) {
	n := c.node
	if n.GetOp() == "ParseExample" { // the kernel ends the process for an empty key
		p := parsers[n.GetOp()]
		var made []*tfproto.NodeDef
		for i := range p.keyInputs(n) {
			made = append(made, c.ensure(p.keys+i, tfproto.DataType_DT_STRING, 0))
		}
		return made, nil
	}
	// The kernel of RaggedGather sets one output of splits for each dimension of what it
	// gathers, however many outputs the node has.
	from, to, dt := n.GetAttr()["PARAMS_RAGGED_RANK"], n.GetAttr()["OUTPUT_RAGGED_RANK"], n.GetAttr()["Tindices"]
	rank, last := int(to.GetI()-from.GetI()+1), len(dataInputs(n))-1
	if from.GetPlaceholder()+to.GetPlaceholder()+dt.GetPlaceholder() != "" || rank < 0 || last < 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "operation %s (%s) gathers by indices of %d dimensions; its attributes must fix at least 0",
			millrace.Quote(n.GetName()), n.GetOp(), rank)
	}
	return []*tfproto.NodeDef{c.ensure(last, dt.GetType(), rank)}, nil
}

// sameRank are operations whose first output has the rank of their first input.
var sameRank = words(`BiasAdd Cast ConcatV2 Elu FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 Identity LeakyRelu MirrorPad Pad PadV2 Relu Relu6 Selu
	Sigmoid Softplus StopGradient Tanh`)

// broadcasts are operations whose output has the greatest rank of their two inputs.
var broadcasts = words(`Add AddV2 Maximum Minimum Mul RealDiv Sub`)

// fixedRank are operations whose kernels return an error unless their first output
// has this rank.
var fixedRank = map[string]int{
	"AvgPool": 4, "AvgPool3D": 5, "Conv2D": 4, "Conv3D": 5, "DepthwiseConv2dNative": 4, "MaxPool": 4, "MaxPool3D": 5,
	"ResizeBilinear": 4, "ResizeNearestNeighbor": 4,
}

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// rank returns the rank that a tensor of a function has in each run, 0 if the graph
// does not determine it.
func (f *flow) rank(body, tensor string, depth int) int {
	if body == "" || depth >= maxFlowDepth {
		return 0 // tensors of the graph itself may be fed
	}
	key := body + "/" + tensor
	if _, seen := f.ranks[key]; !seen {
		f.ranks[key] = 0 // a loop that comes back here finds 0
		f.ranks[key] = f.rankOf(body, tensor, depth)
	}
	return f.ranks[key]
}

// rankOf computes the rank of a tensor.
func (f *flow) rankOf(body, tensor string, depth int) int {
	if a, ok := f.constant(body, tensor); ok {
		return len(a.Shape)
	}
	name, output, _ := strings.Cut(tensor, ":")
	n := f.bodies[body][name]
	inputs := dataInputs(n)
	switch op := n.GetOp(); {
	case strings.HasPrefix(op, "FusedBatchNorm") && output != "y:0":
		return 0
	case fixedRank[op] > 0:
		return fixedRank[op]
	case len(inputs) > 0 && sameRank[op]:
		return f.rank(body, inputs[0], depth+1)
	case len(inputs) == 2 && broadcasts[op]:
		a, b := f.rank(body, inputs[0], depth+1), f.rank(body, inputs[1], depth+1)
		if a > 0 && b > 0 {
			return max(a, b)
		}
	}
	return 0
}
