package layers

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// proto returns the model as a serialized SavedModel message.
func (b *built) proto(sv *saver) ([]byte, error) {
	var def bytes.Buffer
	if _, err := b.scope.Graph().WriteTo(&def); err != nil {
		return nil, err
	}
	pruned, err := graph.Prune(def.Bytes(), b.roots(sv)...)
	if err != nil {
		return nil, err
	}
	g := &tfproto.GraphDef{}
	if err := proto.Unmarshal(pruned, g); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read a graph: %w", err)
	}
	meta := &tfproto.MetaGraphDef{
		MetaInfoDef: &tfproto.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef:    g, SignatureDef: map[string]*tfproto.SignatureDef{},
		SaverDef: &tfproto.SaverDef{
			FilenameTensorName: tensorName(sv.filename), SaveTensorName: tensorName(sv.saved), RestoreOpName: sv.restore.Name(),
			MaxToKeep: 5, Version: tfproto.SaverDef_V2,
		},
	}
	if meta.CollectionDef, err = b.collections(); err != nil {
		return nil, err
	}
	for key, sig := range b.signatures {
		meta.SignatureDef[key] = &tfproto.SignatureDef{
			MethodName: "tensorflow/serving/predict", Inputs: tensorInfos(sig.inputs), Outputs: tensorInfos(sig.outputs),
		}
	}
	model := &tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*tfproto.MetaGraphDef{meta}}
	return proto.MarshalOptions{Deterministic: true}.Marshal(model)
}

// roots returns the nodes that the saved graph must have; all nodes that they do not
// need are dropped.
func (b *built) roots(sv *saver) []string {
	names := []string{sv.saved.Op.Name(), sv.restore.Name()}
	for _, v := range b.store.all {
		names = append(names, v.assign.Name(), v.read.Op.Name())
	}
	for _, sig := range b.signatures {
		for _, tensors := range []Tensors{sig.inputs, sig.outputs} {
			for _, o := range tensors {
				names = append(names, o.Op.Name())
			}
		}
	}
	return names
}

// collections returns the collections by which Python finds the variables.
func (b *built) collections() (map[string]*tfproto.CollectionDef, error) {
	lists := map[string]*tfproto.CollectionDef_BytesList{"variables": {}, "trainable_variables": {}}
	for _, v := range b.store.all {
		data, err := proto.Marshal(&tfproto.VariableDef{
			VariableName: tensorName(v.handle), InitialValueName: tensorName(v.initial), InitializerName: v.assign.Name(),
			SnapshotName: tensorName(v.read), IsResource: true, Trainable: v.Trainable,
		})
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrInternal, "write a variable: %w", err)
		}
		lists["variables"].Value = append(lists["variables"].Value, data)
		if v.Trainable {
			lists["trainable_variables"].Value = append(lists["trainable_variables"].Value, data)
		}
	}
	all := map[string]*tfproto.CollectionDef{}
	for name, list := range lists {
		all[name] = &tfproto.CollectionDef{Kind: &tfproto.CollectionDef_BytesList_{BytesList: list}}
	}
	return all, nil
}

// tensorName returns the name of an output, always with its number.
func tensorName(o tfbridge.Output) string { return o.String() }

// tensorInfos describes the tensors of a signature.
func tensorInfos(tensors Tensors) map[string]*tfproto.TensorInfo {
	infos := map[string]*tfproto.TensorInfo{}
	for name, o := range tensors {
		shape := &tfproto.TensorShapeProto{UnknownRank: o.Shape().NumDimensions() < 0}
		for _, size := range o.Shape().Dims() {
			shape.Dim = append(shape.Dim, &tfproto.TensorShapeProto_Dim{Size: size})
		}
		infos[name] = &tfproto.TensorInfo{
			Encoding: &tfproto.TensorInfo_Name{Name: tensorName(o)}, Dtype: tfproto.DataType(o.DataType()), TensorShape: shape,
		}
	}
	return infos
}
