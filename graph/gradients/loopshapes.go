package gradients

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// A model is exported for batches of any size, so its loops do not say how large their
// variables are. The batches of a training often have one size. Where all shapes are
// known, the derivative of x + y needs no operation that finds out what to sum, and no
// shape has to be kept. So before a loop is recorded we find the shapes that hold in
// every iteration: assume those of the initial values, add the body to a separate graph,
// and see what TensorFlow infers for its results. Where a result does not fit, the
// dimension differs from one iteration to the next and is unknown. This is repeated with
// the fewer known dimensions until all results fit.

// maxShapeRounds limits how often settleShapes adds the body.
const maxShapeRounds = 4

// settleShapes narrows the shapes of a loop's variables to those that hold in every
// iteration. The declared shapes stay where that is not found out.
func settleShapes(l *library, body *tfproto.FunctionDef, rec *recorded) error {
	declared := rec.specs
	if err := rec.settleLists(l, body); err != nil {
		return err
	}
	for i := range rec.inputs {
		rec.specs = replaceShape(rec.specs, i, narrower(declared[i].Shape, rec.inputs[i].Shape()))
	}
	for range maxShapeRounds {
		results, ok := resultShapes(l, body, rec)
		if !ok {
			break
		}
		changed := false
		for i, r := range results {
			if next := narrower(declared[i].Shape, rec.specs[i].Shape.MostSpecificCompatible(r)); !next.Equal(rec.specs[i].Shape) {
				rec.specs, changed = replaceShape(rec.specs, i, next), true
			}
		}
		if !changed {
			return nil
		}
	}
	rec.specs = declared
	return nil
}

// settleLists finds the variables that are lists of tensors and never change, and whose
// elements have a known shape.
func (rec *recorded) settleLists(l *library, body *tfproto.FunctionDef) error {
	nodes, args, results, err := l.flat(body)
	if err != nil {
		return err
	}
	byName := map[string]*tfproto.NodeDef{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	rec.lists = map[int]graph.Spec{}
	for i, o := range rec.inputs {
		o = origin(o)
		if i >= len(args) || i >= len(results) || o.Op.Type() != "TensorListFromTensor" {
			continue
		}
		r := parseRef(results[i])
		for n := byName[r.node]; n != nil && n.Op == "Identity"; n = byName[r.node] {
			r = parseRef(n.Input[0])
		}
		elements := o.Op.Inputs()[0]
		if dims := elements.Shape().Dims(); r.node == args[i] && len(dims) > 0 {
			rec.lists[i] = graph.Spec{DType: elements.DataType(), Shape: tfbridge.MakeShape(dims[1:]...)}
		}
	}
	return nil
}

// loopArguments adds what stands for a loop's variables in a graph that only serves to
// study the body. A list that is made here has elements of a known shape, as a
// placeholder cannot.
func loopArguments(s *graph.Scope, rec *recorded) []tfbridge.Output {
	args := make([]tfbridge.Output, len(rec.specs))
	for i, p := range rec.specs {
		named := s.SubScope(fmt.Sprintf("argument%d", i))
		if element, ok := rec.lists[i]; ok {
			args[i] = emptyList(named, element)
		} else {
			args[i] = named.Placeholder(p.DType, p.Shape)
		}
	}
	return args
}

// resultShapes returns the shapes that TensorFlow infers for the results of a loop's body.
// ok is false if the body does not accept the variables' assumed shapes.
func resultShapes(l *library, body *tfproto.FunctionDef, rec *recorded) (shapes []tfbridge.Shape, ok bool) {
	s := graph.NewScope()
	defer s.Graph().Close()
	for _, o := range place(s, l, body, loopArguments(s, rec)) {
		if s.Err() == nil {
			shapes = append(shapes, o.Shape())
		}
	}
	return shapes, s.Err() == nil && len(shapes) == rec.n
}

// noteWritten notes the elements of a list to which the body writes one of a known shape
// in each iteration.
func (rec *recorded) noteWritten(i int, list, result tfbridge.Output) {
	if result.Op.Type() != "TensorListSetItem" {
		return
	}
	in := result.Op.Inputs()
	if item := graph.SpecOf(in[2]); tensorOf(origin(in[0])) == tensorOf(list) && item.Shape.IsFullySpecified() {
		rec.written[i] = item
	}
}

// knowElements replaces the element shape of an operation that stacks the elements which
// a loop has written. The graph does not pass on the shape from the loop's body.
func (im *importer) knowElements(n *tfproto.NodeDef) *tfproto.NodeDef {
	if len(n.Input) == 0 {
		return n
	}
	element, ok := im.elements[parseRef(n.Input[0])]
	switch {
	case !ok:
		return n
	case n.Op == "Identity" || n.Op == tfbridge.OpCheckArguments, n.Op == tfbridge.OpHideShape:
		im.elements[ref{n.Name, 0}] = element
		return n
	case n.Op != "TensorListStack":
		return n
	}
	value := &tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT32, TensorShape: &tfproto.TensorShapeProto{
		Dim: []*tfproto.TensorShapeProto_Dim{{Size: int64(element.Shape.NumDimensions())}},
	}, IntVal: narrow(element.Shape.Dims())}
	shape := &tfproto.NodeDef{Name: n.Name + "/known_shape", Op: "Const", Device: n.Device, Attr: map[string]*tfproto.AttrValue{
		"dtype": {Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_INT32}},
		"value": {Value: &tfproto.AttrValue_Tensor{Tensor: value}},
	}}
	n = proto.Clone(n).(*tfproto.NodeDef)
	n.Input[1] = shape.Name
	im.pending = append(im.pending, shape)
	return n
}

// replaceShape returns specs with another shape of one of them.
func replaceShape(specs []graph.Spec, i int, shape tfbridge.Shape) []graph.Spec {
	specs = append([]graph.Spec(nil), specs...)
	specs[i].Shape = shape
	return specs
}

// narrower returns what two shapes of one tensor say together. It returns the first where
// they contradict each other.
func narrower(a, b tfbridge.Shape) tfbridge.Shape {
	switch {
	case b.NumDimensions() < 0:
		return a
	case a.NumDimensions() < 0:
		return b
	case a.NumDimensions() != b.NumDimensions():
		return a
	}
	dims := a.Dims()
	for i := range dims {
		if dims[i] < 0 {
			dims[i] = b.Size(i)
		}
	}
	return tfbridge.MakeShape(dims...)
}
