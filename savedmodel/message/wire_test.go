package message

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
)

// message writes one field that holds others.
func message(num protowire.Number, content ...[]byte) []byte {
	b := protowire.AppendTag(nil, num, protowire.BytesType)
	return protowire.AppendBytes(b, bytes.Join(content, nil))
}

func number(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

func TestWireCheck(t *testing.T) {
	nodeOf := func(fields ...[]byte) []byte { return message(2, message(2, message(1, fields...))) }
	entry := func(key string) []byte { return message(5, message(1, []byte(key)), message(2, number(3, 1))) }
	deep := number(1, 1) // NameAttrList in AttrValue in NameAttrList ...
	for range 60 {
		deep = message(10, message(2, message(1, []byte("k")), message(2, deep)))
	}
	tests := []struct {
		name string
		data []byte
		want string // "": well-formed
	}{
		{"empty", nil, ""},
		{"node", nodeOf(message(1, []byte("n")), message(2, []byte("NoOp"))), ""},
		{"attributes", nodeOf(entry("a"), entry("b")), ""},
		{"field twice", nodeOf(message(2, []byte("NoOp")), message(2, []byte("ReadFile"))), "offset 12: in NodeDef: field 2 is there twice, or beside one that excludes it"},
		{"message twice", message(2, message(2), message(2)), "field 2 is there twice"},
		{"both of a oneof", nodeOf(message(5, message(1, []byte("k")), message(2, number(3, 1), number(5, 1)))), "field 5 is there twice, or beside one"},
		{"key twice", nodeOf(entry("a"), entry("b"), entry("a")), "in NodeDef: field 5 has a key twice"},
		{"number as key twice", message(2, message(2, message(2, message(1, message(7, number(1, 1)), message(7, number(1, 1<<32|1)))))), "in FunctionDef: field 7 has a key twice"},
		{"wrong type", nodeOf(number(2, 7)), "in NodeDef: field 2 has wire type 0, not 2"},
		{"not UTF-8", nodeOf(message(1, []byte{0xff})), "in NodeDef: field 1 is not UTF-8"},
		{"group", nodeOf(protowire.AppendTag(nil, 9, protowire.StartGroupType)), "a group"},
		{"cut", nodeOf(message(1, []byte("n")))[:6], "is cut off"},
		{"length past the end", []byte{0x12, 0xff, 0x01}, "offset 0: in SavedModel: field 2 is cut off"},
		{"long varint", append([]byte{8}, bytes.Repeat([]byte{0xff}, 11)...), "cannot be read"},
		{"field 0", []byte{0, 0}, "tag cannot be read"},
		{"field of 32 bits", nodeOf(protowire.AppendVarint(nil, (1<<29+2)<<3|2), []byte{0}), "a tag of more than 32 bits"},
		{"deep", nodeOf(message(5, message(1, []byte("k")), message(2, deep))), "nest deeper than 100"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w Checker
			err := w.Whole(tt.data, SavedModelType())
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !bytes.Contains([]byte(err.Error()), []byte(tt.want))):
				t.Errorf("error\n got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestWireCheckNotesUnknownFields(t *testing.T) {
	var w Checker
	data := message(2, message(2, number(99, 1)))
	if err := w.Whole(data, SavedModelType()); err != nil || w.Unknown == nil || w.Unknown.Message != "GraphDef" {
		t.Errorf("got %v, %v", err, w.Unknown)
	}
}

func TestCanonical(t *testing.T) {
	want := &tfproto.NodeDef{Name: "n", Op: "NoOp", Attr: map[string]*tfproto.AttrValue{
		"T": modeltest.Text("a"), "T_1": modeltest.Text("b"), "U": modeltest.Text("c")}}
	sorted, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	for b := sorted; len(b) > 0; {
		_, _, n := protowire.ConsumeField(b)
		parts, b = append(parts, b[:n]), b[n:]
	}
	slices.Reverse(parts)
	typ := TypeOf(&tfproto.NodeDef{})()
	for name, form := range map[string]func([]byte, *Type) []byte{"canonical": Canonical, "ordered": Ordered} {
		if got := form(bytes.Join(parts, nil), typ); !bytes.Equal(got, sorted) {
			t.Errorf("%s\n got %q\nwant %q", name, got, sorted)
		}
	}
}

// All encodings of a field have the same canonical form.
func TestCanonicalForms(t *testing.T) {
	attr := func(fields ...[]byte) []byte { return bytes.Join(fields, nil) }
	long := append(protowire.AppendTag(nil, 3, protowire.VarintType), 0x81, 0x80, 0x00) // 1 in three bytes
	dim := func(v uint64) []byte { return message(2, number(1, v)) }
	tests := []struct {
		name     string
		message  proto.Message
		in, want []byte
	}{
		{"long varint", &tfproto.AttrValue{}, long, number(3, 1)},
		{"bool of 2", &tfproto.AttrValue{}, number(5, 2), number(5, 1)},
		{"enum with high bits", &tfproto.AttrValue{}, number(6, 1<<32|7), number(6, 7)},
		{"zero in a oneof", &tfproto.AttrValue{}, number(3, 0), number(3, 0)},
		{"zero left out", &tfproto.TensorShapeProto_Dim{}, number(1, 0), nil},
		{"empty text left out", &tfproto.NodeDef{}, message(1), nil},
		{"numbers one by one", &tfproto.AttrValue_ListValue{}, attr(number(3, 1), number(3, 2)), message(3, []byte{1, 2})},
		{"numbers in two packs", &tfproto.AttrValue_ListValue{}, attr(message(3, []byte{1}), number(3, 2), message(3)), message(3, []byte{1, 2})},
		{"floats in a pack", &tfproto.AttrValue_ListValue{}, message(4, []byte{0x81, 0x82, 0x83, 0x84, 5, 6, 7, 8}), message(4, []byte{0x81, 0x82, 0x83, 0x84, 5, 6, 7, 8})},
		{"doubles", &tfproto.TensorProto{}, append(protowire.AppendTag(nil, 6, protowire.Fixed64Type), 1, 2, 3, 4, 5, 6, 7, 8), message(6, []byte{1, 2, 3, 4, 5, 6, 7, 8})},
		{"a number of too many bits, alone", &tfproto.AttrValue_ListValue{}, number(6, 1<<32|7), message(6, []byte{7})},
		{"a number of too many bits in a pack", &tfproto.AttrValue_ListValue{}, message(6, binary.AppendUvarint(nil, 1<<32|7)), message(6, []byte{7})},
		{"empty pack", &tfproto.AttrValue_ListValue{}, message(3), nil},
		{"floats", &tfproto.AttrValue_ListValue{}, attr(append(protowire.AppendTag(nil, 4, protowire.Fixed32Type), 1, 2, 3, 4)), message(4, []byte{1, 2, 3, 4})},
		{"unknown", &tfproto.NodeDef{}, attr(number(99, 1), message(1, []byte("n"))), message(1, []byte("n"))},
		{"entry without a value", &tfproto.NodeDef{}, message(5, message(1, []byte("k"))), message(5, message(1, []byte("k")), message(2))},
		{"entry without a key", &tfproto.NodeDef{}, message(5, message(2, number(3, 1))), message(5, message(1), message(2, number(3, 1)))},
		{"order of a list", &tfproto.TensorShapeProto{}, attr(number(3, 1), dim(2), dim(1)), attr(dim(2), dim(1), number(3, 1))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			typ := TypeOf(tt.message)()
			if got := Canonical(tt.in, typ); !bytes.Equal(got, tt.want) {
				t.Errorf("canonical(%x)\n got %x\nwant %x", tt.in, got, tt.want)
			}
		})
	}
}

// A checksum covers fields of unknown numbers, with their original bytes, after the
// known fields.
func TestOrderOfUnknownFields(t *testing.T) {
	in := bytes.Join([][]byte{number(1, 5), number(3, 1), message(2, number(1, 4))}, nil)
	want := bytes.Join([][]byte{message(2, number(1, 4)), number(3, 1), number(1, 5)}, nil)
	if got := Ordered(in, TypeOf(&tfproto.TensorShapeProto{})()); !bytes.Equal(got, want) {
		t.Errorf("ordered(%x)\n got %x\nwant %x", in, got, want)
	}
}

// Tags, lengths and numbers that take more bytes than they need keep these bytes, also
// in the fields that enclose them.
func TestOrderKeepsBytes(t *testing.T) {
	dim := []byte{0x88, 0x80, 0x00, 0x84, 0x00} // a size of 4, its tag in three bytes
	long := append([]byte{0x12, 0x80 | byte(len(dim)), 0x00}, dim...)
	unknown := []byte{0xb0, 0x00, 0xa3, 0x00}
	in := bytes.Join([][]byte{unknown, number(3, 1), long}, nil)
	want := bytes.Join([][]byte{long, number(3, 1), unknown}, nil)
	if got := Ordered(in, TypeOf(&tfproto.TensorShapeProto{})()); !bytes.Equal(got, want) {
		t.Errorf("ordered(%x)\n got %x\nwant %x", in, got, want)
	}
}

// smallModel is a SavedModel of few bytes with maps, lists and each kind of attribute,
// for a fuzzer to change.
func smallModel(tb testing.TB) []byte {
	list := &tfproto.AttrValue_ListValue{I: []int64{1, -2}, F: []float32{0.5}, B: []bool{true}, S: [][]byte{[]byte("s")},
		Type: []tfproto.DataType{1}, Shape: []*tfproto.TensorShapeProto{{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 3}}}}}
	attr := map[string]*tfproto.AttrValue{
		"a": {Value: &tfproto.AttrValue_List{List: list}},
		"b": {Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "f", Attr: map[string]*tfproto.AttrValue{"c": modeltest.Text("d")}}}},
		"e": {Value: &tfproto.AttrValue_Tensor{Tensor: &tfproto.TensorProto{Dtype: 3, IntVal: []int32{-1, 7}, DoubleVal: []float64{1}}}},
	}
	node := &tfproto.NodeDef{Name: "n", Op: "Const", Input: []string{"x:0", "^y"}, Attr: attr}
	function := &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: "f"}, NodeDef: []*tfproto.NodeDef{{Name: "m", Op: "NoOp"}},
		Ret: map[string]string{"r": "m:0"}, ResourceArgUniqueId: map[uint32]uint32{1: 2}, ArgAttr: map[uint32]*tfproto.FunctionDef_ArgAttrs{0: {Attr: attr}}}
	b, err := proto.Marshal(&tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*tfproto.MetaGraphDef{{
		MetaInfoDef: &tfproto.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef: &tfproto.GraphDef{Node: []*tfproto.NodeDef{node}, Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{function}},
			Versions: &tfproto.VersionDef{Producer: 1, BadConsumers: []int32{5}}},
		SignatureDef: map[string]*tfproto.SignatureDef{"s": {MethodName: "predict"}},
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Messages that the walk accepts must also be accepted by protobuf's parser, and must
// be the same model when they are written again.
func FuzzWireCheck(f *testing.F) {
	for _, name := range []string{"constant", "vocab", "graph_v1"} {
		f.Add(modeltest.ReadFile(f, "../../testdata/models/"+name+"/saved_model.pb"))
	}
	f.Add(smallModel(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		var w Checker
		if w.Whole(data, SavedModelType()) != nil {
			return
		}
		if err := proto.Unmarshal(data, &tfproto.SavedModel{}); err != nil {
			t.Fatalf("accepted, but protobuf says %v", err)
		}
		o := Ordered(data, SavedModelType())
		if len(o) != len(data) || w.Whole(o, SavedModelType()) != nil || !bytes.Equal(Ordered(o, SavedModelType()), o) {
			t.Fatal("its ordered form is another model")
		}
		c := Canonical(data, SavedModelType())
		if w.Whole(c, SavedModelType()) != nil || !bytes.Equal(Canonical(c, SavedModelType()), c) {
			t.Fatal("its canonical form has another canonical form")
		}
		var direct, again tfproto.SavedModel
		drop := proto.UnmarshalOptions{DiscardUnknown: true}
		if drop.Unmarshal(data, &direct) != nil || proto.Unmarshal(c, &again) != nil {
			t.Fatal("its canonical form is no protobuf")
		}
		if !proto.Equal(&direct, &again) {
			t.Fatal("its canonical form is another model")
		}
	})
}
