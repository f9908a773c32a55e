package prelink

import (
	"debug/elf"
	"encoding/binary"
	"iter"
)

// table is a table of relocations, or a part of the file with pointers.
type table struct {
	at   int64 // offset in the file
	data []byte
}

// reference is one relocation: how to fill a pointer.
type reference struct {
	at     uint64 // the pointer's address
	kind   elf.R_X86_64
	symbol uint32
	addend uint64
}

// The sizes of a relocation with addend and of a pointer.
const (
	referenceSize = 24
	pointerSize   = 8
)

// references yields the entries of a table of relocations.
func (t table) references() iter.Seq[reference] {
	return func(yield func(reference) bool) {
		for b := t.data; len(b) >= referenceSize; b = b[referenceSize:] {
			info := binary.LittleEndian.Uint64(b[8:])
			r := reference{
				at:     binary.LittleEndian.Uint64(b),
				kind:   elf.R_X86_64(uint32(info)),
				symbol: uint32(info >> 32),
				addend: binary.LittleEndian.Uint64(b[16:]),
			}
			if !yield(r) {
				return
			}
		}
	}
}

// append appends the entry to a table.
func (r reference) append(data []byte) []byte {
	data = binary.LittleEndian.AppendUint64(data, r.at)
	data = binary.LittleEndian.AppendUint64(data, uint64(r.symbol)<<32|uint64(r.kind))
	return binary.LittleEndian.AppendUint64(data, r.addend)
}
