package message

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/base/tfproto"
	"millrace/internal/base/wire"
)

// Type is the wire reader's description of a protobuf message. It is made from the
// generated descriptors, in a form that is quick to walk.
type Type struct {
	Name   string
	entry  bool        // an entry of a map: key and value are always written
	fields []fieldType // fields by number
}

// fieldType is one field of a messageType; the zero value is an unknown field.
type fieldType struct {
	known    bool
	wire     protowire.Type
	kind     protoreflect.Kind
	packable bool // repeated numbers may come one by one or packed
	text     bool // must be UTF-8
	mapped   bool // an entry of a map
	implicit bool // the zero value is equivalent to an absent field
	once     int  // number of the field or oneof that may occur once, 0 if it repeats
	Message  *Type
}

// Field returns the field with a number.
func (m *Type) Field(n protowire.Number) fieldType {
	if int64(n) < int64(len(m.fields)) {
		return m.fields[n]
	}
	return fieldType{}
}

// The types of the messages that this package reads.
var (
	SavedModelType   = TypeOf(&tfproto.SavedModel{})
	MetaGraphType    = TypeOf(&tfproto.MetaGraphDef{})
	GraphDefType     = TypeOf(&tfproto.GraphDef{})
	FingerprintType  = TypeOf(&tfproto.FingerprintDef{})
	BundleHeaderType = TypeOf(&tfproto.BundleHeaderProto{})
	BundleEntryType  = TypeOf(&tfproto.BundleEntryProto{})
	NodeDefType      = TypeOf(&tfproto.NodeDef{})
	FunctionDefType  = TypeOf(&tfproto.FunctionDef{})
	AttrValueType    = TypeOf(&tfproto.AttrValue{})
	TensorInfoType   = TypeOf(&tfproto.TensorInfo{})
	AssetFileType    = TypeOf(&tfproto.AssetFileDef{})
)

// TypeOf returns a function that makes m's messageType once.
func TypeOf(m protoreflect.ProtoMessage) func() *Type {
	return sync.OnceValue(func() *Type {
		return compileType(m.ProtoReflect().Descriptor(), map[protoreflect.FullName]*Type{})
	})
}

// compileType makes the messageType of d; made holds the types made so far, because
// messages may contain themselves.
func compileType(d protoreflect.MessageDescriptor, made map[protoreflect.FullName]*Type) *Type {
	if m := made[d.FullName()]; m != nil {
		return m
	}
	m := &Type{Name: string(d.Name()), entry: d.IsMapEntry()}
	made[d.FullName()] = m
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		for int(f.Number()) >= len(m.fields) {
			m.fields = append(m.fields, fieldType{})
		}
		ft := fieldType{known: true, wire: wireTypes[f.Kind()], kind: f.Kind(), text: f.Kind() == protoreflect.StringKind, mapped: f.IsMap()}
		ft.packable = f.IsList() && ft.wire != protowire.BytesType
		ft.implicit = !f.IsList() && !f.IsMap() && !f.HasPresence() && !d.IsMapEntry()
		ft.once = onceNumber(f)
		if f.Message() != nil {
			ft.Message = compileType(f.Message(), made)
		}
		m.fields[f.Number()] = ft
	}
	return m
}

// onceNumber returns what a field shares with the fields that exclude it: its
// own number, or the first number of its oneof; 0 if it may repeat.
func onceNumber(f protoreflect.FieldDescriptor) int {
	n := f.Number()
	if f.Cardinality() == protoreflect.Repeated {
		return 0
	}
	if one := f.ContainingOneof(); one != nil {
		n = one.Fields().Get(0).Number()
	}
	if n > maxFieldNumber {
		panic("savedmodel: field number " + string(f.FullName()) + " does not fit seenFields")
	}
	return int(n)
}

// maxFieldNumber is the largest number that seenFields can hold.
const maxFieldNumber = 127

// seenFields is the set of singular fields that occurred in a message.
type seenFields [2]uint64

// add adds n, and reports whether the set already contained it.
func (s *seenFields) add(n int) bool {
	bit := uint64(1) << (n % 64)
	was := s[n/64]&bit != 0
	s[n/64] |= bit
	return was
}

// wireTypes says how a kind of field is written.
var wireTypes = map[protoreflect.Kind]protowire.Type{
	protoreflect.BoolKind: protowire.VarintType, protoreflect.EnumKind: protowire.VarintType,
	protoreflect.Int32Kind: protowire.VarintType, protoreflect.Sint32Kind: protowire.VarintType,
	protoreflect.Uint32Kind: protowire.VarintType, protoreflect.Int64Kind: protowire.VarintType,
	protoreflect.Sint64Kind: protowire.VarintType, protoreflect.Uint64Kind: protowire.VarintType,
	protoreflect.Sfixed32Kind: protowire.Fixed32Type, protoreflect.Fixed32Kind: protowire.Fixed32Type,
	protoreflect.FloatKind: protowire.Fixed32Type, protoreflect.Sfixed64Kind: protowire.Fixed64Type,
	protoreflect.Fixed64Kind: protowire.Fixed64Type, protoreflect.DoubleKind: protowire.Fixed64Type,
	protoreflect.StringKind: protowire.BytesType, protoreflect.BytesKind: protowire.BytesType,
	protoreflect.MessageKind: protowire.BytesType,
}

// Each calls visit for b, a checked message of type m, and for every message in it.
// Outer messages come before the messages in them. It stops at the first error.
func Each(b []byte, m *Type, visit func(b []byte, m *Type) error) error {
	if err := visit(b, m); err != nil {
		return err
	}
	for f := range wire.Fields(b) {
		if t := m.Field(f.Num).Message; t != nil {
			if err := Each(f.Bytes, t, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// FunctionsIn calls found with every function that a message of type m names,
// at whatever depth.
func FunctionsIn(b []byte, m *Type, found func(name string)) {
	Each(b, m, func(b []byte, m *Type) error { //nolint:errcheck // visit returns none
		if m.Name != "NameAttrList" {
			return nil
		}
		name, _ := Find(b, FuncName)
		found(string(name.Bytes))
		return nil
	})
}
