package inputcheck

import (
	"fmt"

	"millrace/internal/base/tfproto"
)

// A dataset that makes batches adds a dimension to each component of its elements. The bound
// contents says how many dimensions the tensors of a dataset have at most, also those in datasets
// that are its elements, as windows are. Where it is above keptDims, a Map in front of the batch checks
// each element:
//
//	dataset ──> MapDataset(millrace_check_0) ──> BatchDatasetV2

// checkBatches returns a Map that checks the elements before a node makes batches, nil if the
// graph shows that they have few dimensions.
func (in *inserter) checkBatches(c *check) []*tfproto.NodeDef {
	n, body := c.node, c.function.GetName()
	inputs := dataInputs(n)
	if !batches[n.GetOp()] || len(inputs) == 0 || in.flow.bounds.get(ofContents, body, inputs[0]) <= keptDims {
		return nil
	}
	types := componentTypes(n)
	f := in.dimsFunction(n.GetName(), types)
	in.made = append(in.made, f)
	shapes := &tfproto.AttrValue_ListValue{}
	for range types {
		shapes.Shape = append(shapes.Shape, &tfproto.TensorShapeProto{UnknownRank: true})
	}
	in.flow.note(f.GetSignature().GetName(), f.GetNodeDef())
	m := mapOf(f.GetSignature().GetName(), types, shapes)
	m.Name, m.Device, m.Input = c.name(checkName), n.GetDevice(), []string{n.GetInput()[0]}
	n.Input[0] = c.ref(m.GetName(), "handle")
	return []*tfproto.NodeDef{m}
}

// checkResults checks the results of the function of a MapAndBatchDataset, within the function. Nodes
// may share a function, which is checked once.
func (in *inserter) checkResults(n *tfproto.NodeDef) {
	name := functionOf(n)
	if n.GetOp() != "MapAndBatchDataset" || in.limited[name] {
		return
	}
	in.limited[name] = true
	for _, f := range in.graph.GetLibrary().GetFunction() {
		if f.GetSignature().GetName() != name {
			continue
		}
		names := namesOf(f.GetNodeDef(), f.GetSignature())
		for i, out := range f.GetSignature().GetOutputArg() {
			if in.flow.ofResult(ofDims, name, i) <= keptDims || out.GetType() == tfproto.DataType_DT_INVALID {
				continue
			}
			unique := fmt.Sprint(resultCheckName, i)
			for k := 1; names[unique] || names[unique+rankSuffix] || names[unique+"_same"]; k++ {
				unique = fmt.Sprint(resultCheckName, i, "_", k)
			}
			made, passed := dimsCheck(unique, n.GetName(), f.GetRet()[out.GetName()], out.GetType(), i)
			f.NodeDef = append(f.NodeDef, made...)
			f.Ret[out.GetName()] = passed
			in.flow.note(name, made)
			in.flow.results[name][i] = passed
		}
	}
}

// dimsFunction returns a function that checks the dimensions of each component of an element.
func (in *inserter) dimsFunction(node string, types []tfproto.DataType) *tfproto.FunctionDef {
	f := &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: in.functionName()}, Ret: map[string]string{}}
	for i, dt := range types {
		arg, out := fmt.Sprint("component", i), fmt.Sprint("checked", i)
		f.Signature.InputArg = append(f.Signature.InputArg, &tfproto.OpDef_ArgDef{Name: arg, Type: dt})
		f.Signature.OutputArg = append(f.Signature.OutputArg, &tfproto.OpDef_ArgDef{Name: out, Type: dt})
		checks, passed := dimsCheck(fmt.Sprint("check", i), node, arg, dt, i)
		f.NodeDef = append(f.NodeDef, checks...)
		f.Ret[out] = passed
	}
	return f
}

// dimsCheck returns the nodes that check the dimensions of a component in a function, and the name of
// the tensor that they pass on.
func dimsCheck(name, node, tensor string, dt tfproto.DataType, i int) ([]*tfproto.NodeDef, string) {
	made, passed := rankCheck(rankOf{name: name, op: "batch", node: node, tensor: tensor, dt: dt, input: i, most: keptDims, function: &tfproto.OpDef{}})
	if passed != "" {
		return made, passed
	}
	same := &tfproto.NodeDef{Name: name + "_same", Op: "Identity", Input: []string{tensor, "^" + name}, Attr: map[string]*tfproto.AttrValue{"T": {Value: &tfproto.AttrValue_Type{Type: dt}}}}
	return append(made, same), same.GetName() + ":output:0"
}
