package events

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"millrace"
	pb "millrace/internal/base/tfproto"
)

// Names of the plugins of TensorBoard that show a value.
const (
	scalarsPlugin    = "scalars"
	histogramsPlugin = "histograms"
)

// Scalars writes one value for each name, in the order of the names. TensorBoard
// groups names by what stands before the first "/". Values that are not finite are
// written too; TensorBoard marks them.
func (w *Writer) Scalars(step int64, values map[string]float64) error {
	summary := &pb.Summary{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		tensor := &pb.TensorProto{
			Dtype: pb.DataType_DT_FLOAT, TensorShape: &pb.TensorShapeProto{}, FloatVal: []float32{float32(values[name])},
		}
		summary.Value = append(summary.Value, tensorValue(name, scalarsPlugin, pb.DataClass_DATA_CLASS_SCALAR, tensor))
	}
	return w.summary(step, summary)
}

// Histogram writes how the values of a tensor are spread.
func (w *Writer) Histogram(step int64, name string, h *Histogram) error {
	tensor := &pb.TensorProto{Dtype: pb.DataType_DT_DOUBLE, TensorShape: &pb.TensorShapeProto{
		Dim: []*pb.TensorShapeProto_Dim{{Size: int64(len(h.Buckets))}, {Size: 3}},
	}}
	for _, b := range h.Buckets {
		tensor.DoubleVal = append(tensor.DoubleVal, b.Left, b.Right, float64(b.Count))
	}
	value := tensorValue(name, histogramsPlugin, pb.DataClass_DATA_CLASS_TENSOR, tensor)
	return w.summary(step, &pb.Summary{Value: []*pb.Summary_Value{value}})
}

// Summary writes a serialized tensorflow.Summary, as TensorFlow's summary operations
// give it.
func (w *Writer) Summary(step int64, summary []byte) error {
	s := &pb.Summary{}
	if err := proto.Unmarshal(summary, s); err != nil {
		return millrace.Errorf(millrace.ErrModel, "summary of step %d: %w", step, err)
	}
	return w.summary(step, s)
}

// Graph writes a graph, a serialized tensorflow.GraphDef.
func (w *Writer) Graph(graphDef []byte) error {
	return w.write(0, &pb.Event{What: &pb.Event_GraphDef{GraphDef: graphDef}})
}

// RunMetadata writes the trace of a step, a serialized tensorflow.RunMetadata.
// TensorBoard shows the times and the memory of its operations in the graph,
// under the name.
func (w *Writer) RunMetadata(step int64, name string, runMetadata []byte) error {
	tagged := &pb.TaggedRunMetadata{Tag: name, RunMetadata: runMetadata}
	return w.write(step, &pb.Event{What: &pb.Event_TaggedRunMetadata{TaggedRunMetadata: tagged}})
}

// tensorValue is a value as TensorFlow 2 writes it.
func tensorValue(name, plugin string, class pb.DataClass, t *pb.TensorProto) *pb.Summary_Value {
	return &pb.Summary_Value{
		Tag: name,
		Metadata: &pb.SummaryMetadata{
			PluginData: &pb.SummaryMetadata_PluginData{PluginName: plugin}, DataClass: class,
		},
		Value: &pb.Summary_Value_Tensor{Tensor: t},
	}
}

// summary writes values of a step.
func (w *Writer) summary(step int64, s *pb.Summary) error {
	return w.write(step, &pb.Event{What: &pb.Event_Summary{Summary: s}})
}
