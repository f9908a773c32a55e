// Package hdf5 reads the arrays of numbers in HDF5 files as Keras writes them:
// ".weights.h5", and the older ".h5". It does not support other parts of HDF5, and
// treats files as hostile: every size in a file is compared with the size of the file
// before memory is allocated.
//
//	f, err := hdf5.Read(r, size)
//	for _, d := range f.Datasets {
//		fmt.Println(d.Name, d.Type, d.Shape)
//	}
package hdf5

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

/*
What of HDF5 is read

A file as libhdf5 writes it with the bounds "earliest", the default of h5py:

	superblock (version 0)
	  └ object header of the root group (version 1): a list of messages
	      symbol table ── B-tree of nodes "TREE" ── leaves "SNOD": name and object header of each child
	                   └─ local heap "HEAP": the names
	      attribute     a name and a value; a string's value lies in a global heap "GCOL"
	    object header of an array
	      dataspace     its shape
	      datatype      the form of its elements
	      layout        where its elements are: in one piece, or in the header

Arrays in chunks, compressed ones, and the newer forms of groups are refused by name.
*/

// Limits of what is read. Keras's largest models stay far below them.
const (
	maxObjects = 1 << 18 // groups and arrays of a file
	maxDepth   = 64      // groups within groups
	maxHeader  = 1 << 20 // bytes of an object header, with its continuations
	maxName    = 4096    // bytes of a name, and of a string in an attribute
	maxRank    = 32      // dimensions of an array
)

// Type is the type of an array's elements, all in little endian order.
type Type string

// The supported types. Arrays of other types are listed with the type "", and cannot be
// read.
const (
	Float16  Type = "float16"
	BFloat16 Type = "bfloat16"
	Float32  Type = "float32"
	Float64  Type = "float64"
	Int8     Type = "int8"
	Int16    Type = "int16"
	Int32    Type = "int32"
	Int64    Type = "int64"
	Uint8    Type = "uint8"
)

// Dataset is an array.
type Dataset struct {
	Name   string // path from the root, "layers/dense/vars/0"
	Type   Type   // "": Reason says why it cannot be read
	Shape  []int64
	Reason string

	at     int64 // offset of its elements
	inline []byte
	bytes  int64
}

// Bytes returns the size of the elements.
func (d *Dataset) Bytes() int64 { return d.bytes }

// File describes the contents of an HDF5 file.
type File struct {
	Datasets []Dataset
	// Names are the values of the attribute "name" of groups, by their paths. For the
	// groups of layers' variables, Keras stores the names of the layers.
	Names map[string]string

	r io.ReaderAt
}

// Read reads the structure of a file of a given size. R must stay readable while the
// elements are read.
func Read(r io.ReaderAt, size int64) (*File, error) {
	p := &parser{r: r, size: size, file: &File{Names: map[string]string{}, r: r}, seen: map[int64]bool{}}
	root, err := p.superblock()
	if err == nil {
		err = p.object("", root, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("HDF5: %w", err)
	}
	return p.file, nil
}

// Elements reads the bytes of an array's elements.
func (f *File) Elements(d *Dataset) ([]byte, error) {
	if d.Type == "" {
		return nil, fmt.Errorf("HDF5: %q cannot be read: %s", d.Name, d.Reason)
	}
	if d.inline != nil || d.bytes == 0 {
		return d.inline, nil
	}
	data := make([]byte, d.bytes) // at most the size of the file: see layout
	if _, err := f.r.ReadAt(data, d.at); err != nil {
		return nil, fmt.Errorf("HDF5: read %q: %w", d.Name, err)
	}
	return data, nil
}

// parser reads one file.
type parser struct {
	r    io.ReaderAt
	size int64
	file *File
	base int64          // base of addresses
	seen map[int64]bool // addresses of groups, arrays and nodes, to refuse cycles
}

// read returns n bytes at an address.
func (p *parser) read(at, n int64, what string) ([]byte, error) {
	if at < 0 || n < 0 || at > p.size || n > p.size-at {
		return nil, fmt.Errorf("damaged: %s at byte %d goes beyond the end of the file", what, at)
	}
	b := make([]byte, n)
	if _, err := p.r.ReadAt(b, at); err != nil && n > 0 {
		return nil, fmt.Errorf("read %s at byte %d: %w", what, at, err)
	}
	return b, nil
}

// address returns the position of an address in the file, -1 for an undefined one.
func (p *parser) address(b []byte) int64 {
	a := binary.LittleEndian.Uint64(b)
	if a == math.MaxUint64 || a > uint64(p.size) {
		return -1
	}
	return p.base + int64(a)
}

// visit records an address, and refuses to visit it again.
func (p *parser) visit(at int64, what string) error {
	switch {
	case p.seen[at]:
		return fmt.Errorf("damaged: %s at byte %d is part of two things", what, at)
	case len(p.seen) >= maxObjects:
		return fmt.Errorf("more than %d objects", maxObjects)
	}
	p.seen[at] = true
	return nil
}

// superblock returns the address of the root group's object header.
func (p *parser) superblock() (int64, error) {
	b, err := p.read(0, min(96, p.size), "the superblock")
	if err != nil {
		return 0, err
	}
	switch {
	case len(b) < 8 || string(b[:8]) != "\x89HDF\r\n\x1a\n":
		return 0, fmt.Errorf("not an HDF5 file")
	case len(b) < 96:
		return 0, fmt.Errorf("damaged: the file has %d bytes", len(b))
	case b[8] != 0:
		return 0, fmt.Errorf("superblock of version %d; files of h5py's default, version 0, can be read", b[8])
	case b[13] != 8 || b[14] != 8:
		return 0, fmt.Errorf("addresses of %d and lengths of %d bytes; they must have 8", b[13], b[14])
	}
	if base := binary.LittleEndian.Uint64(b[24:]); base != 0 {
		return 0, fmt.Errorf("the addresses count from byte %d, not from the beginning", base)
	}
	return p.address(b[64:]), nil
}
