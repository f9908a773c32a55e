package graph_test

import (
	"encoding/binary"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
)

// Keys of the entries of slices, in TensorFlow's ordered code: one dimension, start and
// length.
const (
	firstHalf = "\x00v\x00\x01\x01\x01\x80\x82" // 0,2
	lastHalf  = "\x00v\x00\x01\x01\x01\x82\x82" // 2,2
	early     = "\x00v\x00\x01\x01\x01\x7e\x84" // -2,4
	negative  = "\x00v\x00\x01\x01\x01\x80\x7b" // 0,-5
)

// restores makes a model that restores a variable of four floats by a slice of it.
func restores(s *smuggled, slice string) {
	s.saver("_temp/part")
	s.graph().Node = append(s.graph().Node, listNode("names", "v"), listNode("slices", slice))
	s.op("restored", "RestoreV2", in("filename", "names", "slices"), "dtypes", []tfproto.DataType{f32})
	s.meta().SaverDef.RestoreOpName = "restored"
}

// zeros describes a part of a checkpoint of zeros.
func zeros(d tfproto.DataType, size int64, dims ...int64) *tfproto.BundleEntryProto {
	return &tfproto.BundleEntryProto{Dtype: d, Shape: modeltest.Shape(dims...), Size: size, Crc32C: modeltest.Checksum(make([]byte, size))}
}

// checkpoint makes a trick of a model whose checkpoint has a variable of four floats in
// slices, and other entries before it.
func checkpoint(what, harmless string, slices []*tfproto.TensorSliceProto, keys []string, entries ...*tfproto.BundleEntryProto) trick {
	return trick{what, harmless, func(s *smuggled) {
		restores(s, "")
		whole := zeros(f32, 0, 4)
		whole.Slices = slices
		s.file("variables/variables.index", string(modeltest.Index(s.t, 1, append(keys, "v"), append(entries, whole)...)))
		s.file("variables/variables.data-00000-of-00001", string(make([]byte, 64)))
	}}
}

func halves() []*tfproto.TensorSliceProto {
	return []*tfproto.TensorSliceProto{modeltest.Slice(0, 2), modeltest.Slice(2, 2)}
}

// hiddenEntry makes an index whose restart points name an entry within a value. A reader
// that searches finds that entry, one that reads all finds the other.
func hiddenEntry(s *smuggled) []byte {
	entry := func(key string, value []byte) []byte {
		b := binary.AppendUvarint(binary.AppendUvarint([]byte{0}, uint64(len(key))), uint64(len(value)))
		return append(append(b, key...), value...)
	}
	hidden := entry("v", modeltest.Marshal(s.t, zeros(f32, 16, 4)))
	unknown := append([]byte{0x7a, byte(len(hidden))}, hidden...)
	header := entry("", append(modeltest.Marshal(s.t, &tfproto.BundleHeaderProto{NumShards: 1}), unknown...))
	sound := entry("v", modeltest.Marshal(s.t, zeros(f32, 16, 4)))
	return modeltest.WriteBlocks(append(header, sound...), []uint32{0, uint32(len(header) - len(hidden))}, "v")
}

// checkpointTricks have files of variables that lie.
var checkpointTricks = []trick{
	checkpoint("a variable is in slices", "they fit", halves(), []string{firstHalf, lastHalf}, zeros(f32, 8, 2), zeros(f32, 8, 2)),
	checkpoint("a slice of a variable of floats is of doubles", "", halves(), []string{firstHalf, lastHalf}, zeros(tfproto.DataType_DT_DOUBLE, 16, 2), zeros(f32, 8, 2)),
	checkpoint("a slice of a variable has fewer numbers than the variable says", "", halves(), []string{firstHalf, lastHalf}, zeros(f32, 4, 1), zeros(f32, 8, 2)),
	checkpoint("a slice begins before the variable", "", []*tfproto.TensorSliceProto{modeltest.Slice(-2, 4)}, []string{early}, zeros(f32, 16, 4)),
	checkpoint("a slice has a negative length", "", []*tfproto.TensorSliceProto{modeltest.Slice(0, -5)}, []string{negative}, zeros(f32, 0, 0)),
	{"a saver restores a slice of a tensor with a negative dimension", "", func(s *smuggled) {
		restores(s, "-4 0,1")
		s.file("variables/variables.index", string(modeltest.Index(s.t, 1, []string{"v"}, zeros(f32, 16, 4))))
		s.file("variables/variables.data-00000-of-00001", string(make([]byte, 16)))
	}},
	{"an entry of a checkpoint is within the value of another, where only a search finds it", "", func(s *smuggled) {
		restores(s, "")
		s.file("variables/variables.index", string(hiddenEntry(s)))
		s.file("variables/variables.data-00000-of-00001", string(make([]byte, 16)))
	}},
}
