package hdf5

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Types of the messages in an object header that are read.
const (
	messageDataspace    = 0x01
	messageDatatype     = 0x03
	messageLinkInfo     = 0x02
	messageLink         = 0x06
	messageLayout       = 0x08
	messageFilters      = 0x0b
	messageAttribute    = 0x0c
	messageContinuation = 0x10
	messageSymbolTable  = 0x11
)

// message is one message of an object header.
type message struct {
	typ  uint16
	data []byte
}

// messages returns the messages of an object header.
func (p *parser) messages(at int64) ([]message, error) {
	head, err := p.read(at, 16, "an object header")
	if err != nil {
		return nil, err
	}
	if head[0] != 1 {
		return nil, fmt.Errorf("object header of version %d at byte %d; version 1 can be read", head[0], at)
	}
	count := int(binary.LittleEndian.Uint16(head[2:]))
	type block struct{ at, n int64 }
	blocks, total := []block{{at + 16, int64(binary.LittleEndian.Uint32(head[8:]))}}, int64(0)
	var list []message
	for i := 0; i < len(blocks) && len(list) < count; i++ {
		if total += blocks[i].n; total > maxHeader {
			return nil, fmt.Errorf("the object header at byte %d has more than %d bytes", at, maxHeader)
		}
		b, err := p.read(blocks[i].at, blocks[i].n, "an object header")
		if err != nil {
			return nil, err
		}
		for len(b) >= 8 && len(list) < count {
			m := message{typ: binary.LittleEndian.Uint16(b)}
			size := int(binary.LittleEndian.Uint16(b[2:]))
			if size > len(b)-8 {
				return nil, fmt.Errorf("damaged: a message of the object header at byte %d is too long", at)
			}
			m.data, b = b[8:8+size], b[8+size:]
			if m.typ == messageContinuation && size >= 16 && len(blocks) < 1024 {
				blocks = append(blocks, block{p.address(m.data), int64(min(binary.LittleEndian.Uint64(m.data[8:]), maxHeader+1))})
			}
			list = append(list, m)
		}
	}
	return list, nil
}

// object reads a group or an array.
func (p *parser) object(name string, at int64, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("groups within %d groups", maxDepth)
	}
	if err := p.visit(at, fmt.Sprintf("%q", name)); err != nil {
		return err
	}
	list, err := p.messages(at)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	of := map[uint16][]byte{}
	for _, m := range list {
		of[m.typ] = m.data
		if m.typ == messageAttribute {
			if value, ok := p.nameAttribute(m.data); ok {
				p.file.Names[name] = value
			}
		}
	}
	switch {
	case of[messageSymbolTable] != nil:
		return p.group(name, of[messageSymbolTable], depth)
	case of[messageLayout] != nil:
		return p.dataset(name, of)
	case of[messageLink] != nil || of[messageLinkInfo] != nil:
		return fmt.Errorf("%q is a group of a newer form; save it with h5py's default, or as safetensors", name)
	}
	return nil // a named datatype
}

// group reads the children of a group.
func (p *parser) group(name string, table []byte, depth int) error {
	if len(table) < 16 {
		return fmt.Errorf("damaged: the symbol table of %q is too short", name)
	}
	tree, heap := p.address(table), p.address(table[8:])
	head, err := p.read(heap, 32, "a local heap")
	if err != nil {
		return err
	}
	if string(head[:4]) != "HEAP" {
		return fmt.Errorf("damaged: no local heap at byte %d", heap)
	}
	g := &group{name: name, names: p.address(head[24:]), length: binary.LittleEndian.Uint64(head[8:]), depth: depth}
	return p.node(tree, g)
}

// group is a group that is being read.
type group struct {
	name   string
	names  int64  // where the heap's names are
	length uint64 // bytes of the heap
	depth  int
}

// node reads a node of a group's tree, or a leaf.
func (p *parser) node(at int64, g *group) error {
	if err := p.visit(at, "a node of a group"); err != nil {
		return err
	}
	head, err := p.read(at, 8, "a node of a group")
	if err != nil {
		return err
	}
	switch string(head[:4]) {
	case "SNOD":
		return p.leaf(at, int64(binary.LittleEndian.Uint16(head[6:])), g)
	case "TREE":
	default:
		return fmt.Errorf("damaged: no node of a group at byte %d", at)
	}
	if head[4] != 0 {
		return fmt.Errorf("damaged: the node at byte %d is not of a group", at)
	}
	count := int64(binary.LittleEndian.Uint16(head[6:]))
	entries, err := p.read(at+24, 8+16*count, "a node of a group")
	if err != nil {
		return err
	}
	for i := range count {
		if err := p.node(p.address(entries[8+16*i:]), g); err != nil {
			return err
		}
	}
	return nil
}

// leaf reads the entries of a leaf.
func (p *parser) leaf(at, count int64, g *group) error {
	entries, err := p.read(at+8, 40*count, "a leaf of a group")
	if err != nil {
		return err
	}
	for i := range count {
		e := entries[40*i:]
		name, err := p.name(g, binary.LittleEndian.Uint64(e))
		if err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(e[16:]) == 2 {
			continue // a symbolic link
		}
		if g.name != "" {
			name = g.name + "/" + name
		}
		if len(name) > maxName {
			return fmt.Errorf("a path has more than %d bytes", maxName)
		}
		if err := p.object(name, p.address(e[8:]), g.depth+1); err != nil {
			return err
		}
	}
	return nil
}

// name reads a name from the heap of a group.
func (p *parser) name(g *group, offset uint64) (string, error) {
	if offset >= g.length || g.names < 0 {
		return "", fmt.Errorf("damaged: a name of group %q is not in its heap", g.name)
	}
	at := g.names + int64(min(offset, uint64(p.size)))
	b, err := p.read(at, min(maxName, int64(min(g.length-offset, maxName)), max(0, p.size-at)), "a name")
	if err != nil {
		return "", err
	}
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return "", fmt.Errorf("damaged: a name of group %q has no end", g.name)
	}
	return string(b[:end]), nil
}

// nameAttribute returns the value of an attribute called "name" that is a string.
func (p *parser) nameAttribute(b []byte) (string, bool) {
	if len(b) < 8 || b[0] < 1 || b[0] > 3 {
		return "", false
	}
	version := b[0]
	sizes := [3]int{}
	for i := range sizes {
		sizes[i] = int(binary.LittleEndian.Uint16(b[2+2*i:]))
	}
	at := 8
	if version == 3 {
		at = 9
	}
	var parts [3][]byte
	for i, n := range sizes {
		if at > len(b) || n > len(b)-at {
			return "", false
		}
		parts[i] = b[at : at+n]
		if at += n; version == 1 {
			at += (8 - n%8) % 8
		}
	}
	if at > len(b) || string(bytes.TrimRight(parts[0], "\x00")) != "name" || len(parts[1]) < 8 {
		return "", false
	}
	value := b[at:]
	switch class := parts[1][0] & 0x0f; {
	case class == 3: // a string of a fixed length
		n := min(int(binary.LittleEndian.Uint32(parts[1][4:])), len(value), maxName)
		return string(bytes.TrimRight(value[:max(0, n)], "\x00")), true
	case class == 9 && parts[1][1]&0x0f == 1 && len(value) >= 16: // a string of any length
		return p.heapString(value)
	}
	return "", false
}

// heapString reads a string of the global heap: its length, and the address and the
// number of an object.
func (p *parser) heapString(ref []byte) (string, bool) {
	length, at, index := int64(binary.LittleEndian.Uint32(ref)), p.address(ref[4:]), binary.LittleEndian.Uint32(ref[12:])
	head, err := p.read(at, 16, "a global heap")
	if err != nil || string(head[:4]) != "GCOL" || length > maxName {
		return "", false
	}
	size := int64(min(binary.LittleEndian.Uint64(head[8:]), uint64(p.size)))
	for pos, end := at+16, at+size; pos+16 <= end; {
		entry, err := p.read(pos, 16, "a global heap")
		if err != nil {
			return "", false
		}
		number, bytes := uint32(binary.LittleEndian.Uint16(entry)), int64(min(binary.LittleEndian.Uint64(entry[8:]), uint64(p.size)))
		if number == index {
			value, err := p.read(pos+16, min(length, bytes), "a string")
			return string(value), err == nil
		}
		if number == 0 {
			break
		}
		pos += 16 + (bytes+7)/8*8
	}
	return "", false
}
