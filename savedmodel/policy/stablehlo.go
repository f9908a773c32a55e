package policy

import (
	"bytes"
	"encoding/binary"
	"regexp"
)

// XlaCallModule, which jax2tf writes, runs a program of StableHLO that stands in an
// attribute. Nearly all operations of StableHLO only compute. The exceptions are:
//
//   - custom_call runs a function of the process by its name. TensorFlow
//     registers functions there that take raw pointers, and jax its callbacks.
//   - infeed, outfeed, send and recv wait for a host program that does not exist.
//
// A program is plain if it has none of these. It must be in MLIR's bytecode, which
// exporters have written since 2023: there the name of every operation stands unescaped
// in one table of strings. In MLIR's text a name may have escapes.
//
//	"ML\xefR"  version  producer\0  then sections, in any order:
//	  kind (7 bits), aligned (1 bit)  length  [alignment, padding]  contents
//	section 0, the strings:
//	  count  lengths, of the last string first  strings, each with its \0

// moduleMagic is the beginning of MLIR's bytecode.
var moduleMagic = []byte("ML\xefR")

// hostOperation matches the names of operations that reach outside of a
// program, in any dialect, with the version that VHLO appends.
var hostOperation = regexp.MustCompile(`^(\w+\.)?(custom_call|infeed|outfeed|send|recv)(_v[0-9]+)?$`)

// isPlainModule reports whether a module of StableHLO provably only computes.
func isPlainModule(module []byte) bool {
	if !bytes.HasPrefix(module, moduleMagic) || bytes.Contains(module, []byte("custom_call")) {
		return false
	}
	names, ok := moduleStrings(module)
	if !ok {
		return false
	}
	for _, name := range names {
		if hostOperation.Match(name) {
			return false
		}
	}
	return true
}

// bytecode reads MLIR's bytecode; bad is set at the first fault.
type bytecode struct {
	rest []byte
	bad  bool
}

// moduleStrings returns the table of strings of a module in bytecode.
func moduleStrings(module []byte) (names [][]byte, ok bool) {
	b := &bytecode{rest: module[len(moduleMagic):]}
	b.number() // version
	end := bytes.IndexByte(b.rest, 0)
	if end < 0 {
		return nil, false
	}
	b.rest = b.rest[end+1:]
	for len(b.rest) > 0 && !b.bad {
		kind, contents := b.section(len(module))
		if kind != 0 {
			continue
		}
		if ok { // two tables are ambiguous
			return nil, false
		}
		if names, ok = (&bytecode{rest: contents}).strings(); !ok {
			return nil, false
		}
	}
	return names, ok && !b.bad
}

// section reads one section of a module of some size. Padding moves the contents to a
// multiple of their alignment.
func (b *bytecode) section(size int) (kind byte, contents []byte) {
	const kinds, aligned = 0x7f, 0x80
	kind = b.rest[0]
	b.rest = b.rest[1:]
	length := b.number()
	if kind&aligned != 0 {
		alignment := b.number()
		for alignment > 1 && !b.bad && uint64(size-len(b.rest))%alignment != 0 {
			const padding = 0xcb
			if b.bad = len(b.rest) == 0 || b.rest[0] != padding; !b.bad {
				b.rest = b.rest[1:]
			}
		}
	}
	if b.bad = b.bad || length > uint64(len(b.rest)); b.bad {
		return kind & kinds, nil
	}
	contents, b.rest = b.rest[:length], b.rest[length:]
	return kind & kinds, contents
}

// strings reads the contents of the section of strings.
func (b *bytecode) strings() (names [][]byte, ok bool) {
	count := b.number()
	if b.bad || count > uint64(len(b.rest)) {
		return nil, false
	}
	sizes := make([]uint64, count)
	for i := range sizes {
		sizes[len(sizes)-1-i] = b.number()
	}
	for _, size := range sizes {
		if b.bad || size == 0 || size > uint64(len(b.rest)) || b.rest[size-1] != 0 {
			return nil, false
		}
		names, b.rest = append(names, b.rest[:size-1]), b.rest[size:]
	}
	return names, len(b.rest) == 0
}

// number reads an MLIR number: the trailing zero bits of its first byte are the number
// of bytes that follow; a zero byte means eight.
func (b *bytecode) number() uint64 {
	if len(b.rest) == 0 {
		b.bad = true
		return 0
	}
	more := 0
	for more < 8 && b.rest[0]>>more&1 == 0 {
		more++
	}
	if len(b.rest) < more+1 {
		b.bad = true
		return 0
	}
	var wide [8]byte
	var v uint64
	if more == 8 {
		copy(wide[:], b.rest[1:9])
		v = binary.LittleEndian.Uint64(wide[:])
	} else {
		copy(wide[:], b.rest[:more+1])
		v = binary.LittleEndian.Uint64(wide[:]) >> (more + 1)
	}
	b.rest = b.rest[more+1:]
	return v
}
