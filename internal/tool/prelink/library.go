package prelink

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"

	"millrace/internal/base/regularfile"
)

// library is one of the libraries, with the tables of its dynamic section.
type library struct {
	file    *os.File
	elf     *elf.File
	symbols []byte
	names   []byte
	rela    table // references in data and in the global offset table
	plt     table // references to functions, for the procedure linkage table

	before  map[string]bool // names that libraries opened earlier define
	targets []target        // index: a symbol
}

// open opens a library and reads its tables.
func open(path string) (*library, error) {
	f, _, err := regularfile.OpenFile(path)
	if err != nil {
		return nil, err
	}
	l := &library{file: f}
	if l.elf, err = elf.NewFile(f); err == nil {
		err = l.read()
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func (l *library) close() { l.file.Close() }

// read reads the tables.
func (l *library) read() error {
	h := l.elf.FileHeader
	if h.Type != elf.ET_DYN || h.Machine != elf.EM_X86_64 || h.Class != elf.ELFCLASS64 {
		return fmt.Errorf("not a shared library for x86-64, but %v for %v", h.Type, h.Machine)
	}
	symbols := l.elf.SectionByType(elf.SHT_DYNSYM)
	if symbols == nil {
		return fmt.Errorf("no dynamic symbols")
	}
	var err error
	if l.symbols, err = symbols.Data(); err != nil {
		return err
	}
	l.targets = make([]target, len(l.symbols)/elf.Sym64Size)
	names, err := l.table(elf.DT_STRTAB, elf.DT_STRSZ)
	if err != nil {
		return err
	}
	l.names = append(names.data, 0) // so that every name is terminated
	if l.rela, err = l.table(elf.DT_RELA, elf.DT_RELASZ); err != nil {
		return err
	}
	if l.plt, err = l.table(elf.DT_JMPREL, elf.DT_PLTRELSZ); err != nil {
		return err
	}
	return l.check()
}

// check returns an error about indices outside of a table.
func (l *library) check() error {
	for i := range l.targets {
		if name := binary.LittleEndian.Uint32(l.symbols[i*elf.Sym64Size:]); int(name) >= len(l.names) {
			return fmt.Errorf("symbol %d has its name at %d, beyond the %d bytes of names", i, name, len(l.names))
		}
	}
	for _, t := range []table{l.rela, l.plt} {
		for r := range t.references() {
			if int(r.symbol) >= len(l.targets) {
				return fmt.Errorf("the reference at %#x is to symbol %d of %d", r.at, r.symbol, len(l.targets))
			}
		}
	}
	return nil
}

// table reads the table whose address and size are two entries of the dynamic
// section. A library without these entries has an empty table.
func (l *library) table(address, size elf.DynTag) (table, error) {
	if values, err := l.elf.DynValue(address); err == nil && len(values) == 0 {
		return table{}, nil
	}
	at, err := l.dynamic(address)
	if err != nil {
		return table{}, err
	}
	n, err := l.dynamic(size)
	if err != nil {
		return table{}, err
	}
	return l.load(at, n)
}

// dynamic returns the value of an entry that the dynamic section has once.
func (l *library) dynamic(tag elf.DynTag) (uint64, error) {
	values, err := l.elf.DynValue(tag)
	if err == nil && len(values) != 1 {
		err = fmt.Errorf("%d entries %v in the dynamic section, want 1", len(values), tag)
	}
	if err != nil {
		return 0, err
	}
	return values[0], nil
}

// load reads n bytes of the file that a process finds at an address.
func (l *library) load(address, n uint64) (table, error) {
	for _, p := range l.elf.Progs {
		if p.Type == elf.PT_LOAD && address >= p.Vaddr && n <= p.Filesz && address-p.Vaddr <= p.Filesz-n {
			t := table{at: int64(p.Off + address - p.Vaddr), data: make([]byte, n)}
			_, err := l.file.ReadAt(t.data, t.at)
			return t, err
		}
	}
	return table{}, fmt.Errorf("the file has no %d bytes for address %#x", n, address)
}

// symbol returns an entry of the symbol table and its name.
func (l *library) symbol(index uint32) (elf.Sym64, []byte) {
	b := l.symbols[int(index)*elf.Sym64Size:]
	s := elf.Sym64{
		Name:  binary.LittleEndian.Uint32(b),
		Info:  b[4],
		Shndx: binary.LittleEndian.Uint16(b[6:]),
		Value: binary.LittleEndian.Uint64(b[8:]),
	}
	name := l.names[s.Name:]
	return s, name[:bytes.IndexByte(name, 0)]
}

// define adds the names that the library defines.
func (l *library) define(names map[string]bool) {
	for i := range l.targets {
		if s, name := l.symbol(uint32(i)); s.Shndx != uint16(elf.SHN_UNDEF) {
			names[string(name)] = true
		}
	}
}
