package events

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	pb "millrace/internal/base/tfproto"
)

// TensorBoard's plugin "hparams" takes the hyperparameters of a run from one value, whose
// metadata hold a message that TensorFlow's own library does not have. These are its parts:
//
//	HParamsPluginData  { int32 version = 1; SessionStartInfo session_start_info = 3; }
//	SessionStartInfo   { map<string, google.protobuf.Value> hparams = 1; double start_time_secs = 5; }
//	Value              { double number_value = 2; string string_value = 3; bool bool_value = 4; }
const (
	hparamsPlugin    = "hparams"
	sessionStartName = "_hparams_/session_start_info"
)

// Hyperparameters writes the hyperparameters of the run in the folder: numbers, truth values
// and strings by name. TensorBoard compares runs by them.
func (w *Writer) Hyperparameters(values map[string]any) error {
	var info []byte
	for _, name := range slices.Sorted(maps.Keys(values)) {
		entry := protowire.AppendTag(nil, 1, protowire.BytesType)
		entry = protowire.AppendString(entry, name)
		entry = protowire.AppendTag(entry, 2, protowire.BytesType)
		entry = protowire.AppendBytes(entry, hyperparameter(values[name]))
		info = protowire.AppendTag(info, 1, protowire.BytesType)
		info = protowire.AppendBytes(info, entry)
	}
	info = protowire.AppendTag(info, 5, protowire.Fixed64Type)
	info = protowire.AppendFixed64(info, math.Float64bits(float64(w.now().UnixMicro())/1e6))
	content := protowire.AppendTag(nil, 3, protowire.BytesType)
	content = protowire.AppendBytes(content, info)
	none := &pb.TensorProto{Dtype: pb.DataType_DT_FLOAT, TensorShape: &pb.TensorShapeProto{Dim: []*pb.TensorShapeProto_Dim{{}}}}
	value := tensorValue(sessionStartName, hparamsPlugin, pb.DataClass_DATA_CLASS_TENSOR, none)
	value.Metadata.PluginData.Content = content
	return w.summary(0, &pb.Summary{Value: []*pb.Summary_Value{value}})
}

// hyperparameter encodes a google.protobuf.Value.
func hyperparameter(v any) []byte {
	switch v := v.(type) {
	case float64:
		return protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), math.Float64bits(v))
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), protowire.EncodeBool(v))
	}
	return protowire.AppendString(protowire.AppendTag(nil, 3, protowire.BytesType), fmt.Sprint(v))
}
