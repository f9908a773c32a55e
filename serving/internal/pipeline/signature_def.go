package pipeline

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// AddSignatures returns a serialized MetaGraphDef message with more signatures.
func AddSignatures(metaGraph []byte, signatures map[string]tfbridge.Signature) ([]byte, error) {
	more := &tfproto.MetaGraphDef{SignatureDef: map[string]*tfproto.SignatureDef{}}
	for key, s := range signatures {
		more.SignatureDef[key] = &tfproto.SignatureDef{Inputs: tensorInfos(s.Inputs), Outputs: tensorInfos(s.Outputs), MethodName: s.MethodName}
	}
	// The fields of a message may be in several parts: a parser merges them.
	return proto.MarshalOptions{}.MarshalAppend(slices.Clip(metaGraph), more)
}

// tensorInfos returns the messages about tensors of a signature.
func tensorInfos(infos map[string]tfbridge.TensorInfo) map[string]*tfproto.TensorInfo {
	all := make(map[string]*tfproto.TensorInfo, len(infos))
	for name, info := range infos {
		shape := &tfproto.TensorShapeProto{UnknownRank: info.Shape.NumDimensions() < 0}
		for _, n := range info.Shape.Dims() {
			shape.Dim = append(shape.Dim, &tfproto.TensorShapeProto_Dim{Size: n})
		}
		all[name] = &tfproto.TensorInfo{
			Encoding: &tfproto.TensorInfo_Name{Name: info.Name}, Dtype: tfproto.DataType(info.DType), TensorShape: shape,
		}
	}
	return all
}
