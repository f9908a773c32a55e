package convert

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	flatbuffers "github.com/google/flatbuffers/go"
)

// # Why schemas are walked before a library reads them
//
// A schema is a tree of fields in the format of FlatBuffers, where a field has the
// offset of its children. Several offsets may refer to the same field: 30 fields, each
// with the next one twice as a child, form a tree of a billion fields. And a chain of a
// million children ends the process: libraries cannot recover from a stack overflow. So
// the walk below counts fields and levels first, and the bytes of all names.
const (
	maxArrowFields = 2 * maxColumns
	maxArrowLevels = 64
	maxArrowText   = 64 << 20 // limit of names and metadata
	maxArrowHeader = 64 << 20 // limit of a message or footer
)

// Slots of tables in Arrow's Schema.fbs, Message.fbs and File.fbs: 4 + 2*(number of the field).
const (
	slotMessageType   = 6
	slotMessageHeader = 8
	slotFooterSchema  = 6
	slotSchemaFields  = 6
	slotSchemaText    = 8
	slotFieldName     = 4
	slotFieldKind     = 8
	slotFieldType     = 10
	slotFieldChildren = 14
	slotFieldText     = 16
	slotTypeZone      = 6 // time zone of a timestamp
	slotKey           = 4
	slotValue         = 6

	headerIsSchema  = 1  // MessageHeader
	typeIsTimestamp = 10 // Type
)

// schemaWalk counts how much a schema may still contain.
type schemaWalk struct {
	fields, text int
}

// table returns the table that a slot refers to.
func table(t *flatbuffers.Table, slot flatbuffers.VOffsetT) (*flatbuffers.Table, bool) {
	at := t.Offset(slot)
	if at == 0 {
		return nil, false
	}
	return &flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(flatbuffers.UOffsetT(at) + t.Pos)}, true
}

// root returns the table that a message begins with.
func root(message []byte) *flatbuffers.Table {
	return &flatbuffers.Table{Bytes: message, Pos: flatbuffers.GetUOffsetT(message)}
}

// each calls fn for the tables of a list.
func each(t *flatbuffers.Table, slot flatbuffers.VOffsetT, fn func(*flatbuffers.Table) error) error {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 {
		return nil
	}
	start, n := t.Vector(at), t.VectorLen(at)
	for i := range n {
		if err := fn(&flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(start + 4*flatbuffers.UOffsetT(i))}); err != nil {
			return err
		}
	}
	return nil
}

// string counts the bytes of a text.
func (w *schemaWalk) string(t *flatbuffers.Table, slot flatbuffers.VOffsetT) error {
	if at := t.Offset(slot); at != 0 {
		w.text -= len(t.ByteVector(flatbuffers.UOffsetT(at) + t.Pos))
	}
	if w.text -= 16; w.text < 0 {
		return limitError("its schema has more than %d bytes of names and metadata", maxArrowText)
	}
	return nil
}

// pairs counts the bytes of metadata.
func (w *schemaWalk) pairs(t *flatbuffers.Table, slot flatbuffers.VOffsetT) error {
	return each(t, slot, func(pair *flatbuffers.Table) error {
		return errors.Join(w.string(pair, slotKey), w.string(pair, slotValue))
	})
}

// schema walks a table Schema.
func (w *schemaWalk) schema(t *flatbuffers.Table) error {
	if err := w.pairs(t, slotSchemaText); err != nil {
		return err
	}
	return each(t, slotSchemaFields, func(field *flatbuffers.Table) error { return w.field(field, 1) })
}

// field walks a table Field.
func (w *schemaWalk) field(t *flatbuffers.Table, level int) error {
	if w.fields--; w.fields < 0 || level > maxArrowLevels {
		return limitError("its schema has more than %d fields or more than %d levels", maxArrowFields, maxArrowLevels)
	}
	err := errors.Join(w.string(t, slotFieldName), w.pairs(t, slotFieldText))
	kind := flatbuffers.UOffsetT(t.Offset(slotFieldKind))
	if of, ok := table(t, slotFieldType); ok && kind != 0 && t.GetByte(kind+t.Pos) == typeIsTimestamp {
		err = errors.Join(err, w.string(of, slotTypeZone))
	}
	if err != nil {
		return err
	}
	return each(t, slotFieldChildren, func(child *flatbuffers.Table) error { return w.field(child, level+1) })
}

// checkSchema walks the schema of a message, or of the footer of a file.
func checkSchema(head []byte, slot flatbuffers.VOffsetT) error {
	t, ok := table(root(head), slot)
	if !ok {
		return errors.New("it has no schema")
	}
	w := &schemaWalk{maxArrowFields, maxArrowText}
	return w.schema(t)
}

// checkIPCSchema walks the schema of a file, or of a stream.
func checkIPCSchema(f io.ReaderAt, size int64, stream bool) error {
	if stream {
		return checkFirstMessage(io.NewSectionReader(f, 0, size))
	}
	var end [10]byte // the footer's length, and ARROW1
	if _, err := f.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > maxArrowHeader || n > size-int64(len(end)) {
		return limitError("a footer of %d bytes in a file of %d; at most %d are read", n, size, maxArrowHeader)
	}
	footer := make([]byte, n)
	if _, err := f.ReadAt(footer, size-int64(len(end))-n); err != nil {
		return err
	}
	return checkSchema(footer, slotFooterSchema)
}

// checkFirstMessage walks the schema that a stream begins with.
func checkFirstMessage(r *io.SectionReader) error {
	var word [4]byte
	n := uint32(0xffffffff)
	for range 2 { // the length of the message may follow a mark
		if _, err := io.ReadFull(r, word[:]); err != nil {
			return err
		}
		if n = binary.LittleEndian.Uint32(word[:]); n != 0xffffffff {
			break
		}
	}
	if int64(n) > maxArrowHeader || int64(n) > r.Size() {
		return limitError("a message whose header has %d bytes, in %d bytes; at most %d are read", n, r.Size(), maxArrowHeader)
	}
	message := make([]byte, n)
	if _, err := io.ReadFull(r, message); err != nil {
		return err
	}
	t := root(message)
	if at := t.Offset(slotMessageType); at == 0 || t.GetByte(flatbuffers.UOffsetT(at)+t.Pos) != headerIsSchema {
		return errors.New("its first message is no schema")
	}
	return checkSchema(message, slotMessageHeader)
}

// checkParquetSchema walks the Arrow schema that a Parquet file may contain.
func checkParquetSchema(meta *metadata.FileMetaData) error {
	text := meta.KeyValueMetadata().FindValue("ARROW:schema")
	if text == nil {
		return nil
	}
	message, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return err
	}
	return checkFirstMessage(io.NewSectionReader(bytes.NewReader(message), 0, int64(len(message))))
}
