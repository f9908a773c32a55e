package prelink

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// target is the cached resolution of a symbol.
type target struct {
	asked, bound bool
	value        uint64
}

// bind returns the offset that the dynamic linker will add to the library's address to
// fill a pointer, if only this library can define the symbol.
func (l *library) bind(r reference) (offset uint64, ok bool) {
	switch r.kind {
	case elf.R_X86_64_64:
	case elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT: // their addend is ignored
		r.addend = 0
	default:
		return 0, false
	}
	t := &l.targets[r.symbol]
	if !t.asked {
		t.asked = true
		t.value, t.bound = l.resolve(r.symbol)
	}
	return t.value + r.addend, t.bound
}

// resolve returns the value of a symbol that only this library can define.
func (l *library) resolve(index uint32) (value uint64, ok bool) {
	s, name := l.symbol(index)
	if s.Shndx == uint16(elf.SHN_UNDEF) || s.Shndx >= uint16(elf.SHN_LORESERVE) {
		return 0, false
	}
	switch elf.ST_BIND(s.Info) {
	case elf.STB_GLOBAL, elf.STB_WEAK:
	default:
		return 0, false
	}
	switch elf.ST_TYPE(s.Info) {
	case elf.STT_NOTYPE, elf.STT_OBJECT, elf.STT_FUNC:
	default:
		return 0, false
	}
	return s.Value, !standard(name) && !l.before[string(name)]
}

// standardPrefixes are the prefixes of the mangled names of std::__cxx11 and of
// operators in std. TensorFlow shares no other names with libstdc++.
var standardPrefixes = [...]string{"_ZNSt7__cxx11", "_ZNKSt7__cxx11", "_ZSt"}

// standard reports whether libstdc++ may define a name.
func standard(name []byte) bool {
	return slices.ContainsFunc(standardPrefixes[:], func(prefix string) bool {
		return bytes.HasPrefix(name, []byte(prefix))
	})
}

// bindData returns the table of the references in data: the relative ones, by
// address, and then the others in their order. The dynamic linker keeps the last
// name that it looked up, so references to one name must stay together.
func (l *library) bindData() (data []byte, relative int) {
	var ours, others []reference
	for r := range l.rela.references() {
		if offset, ok := l.bind(r); ok {
			r = reference{r.at, elf.R_X86_64_RELATIVE, 0, offset}
		}
		if r.kind == elf.R_X86_64_RELATIVE {
			ours = append(ours, r)
		} else {
			others = append(others, r)
		}
	}
	slices.SortStableFunc(ours, func(a, b reference) int { return cmp.Compare(a.at, b.at) })
	data = make([]byte, 0, len(l.rela.data))
	for _, r := range slices.Concat(ours, others) {
		data = r.append(data)
	}
	return data, len(ours)
}

// bindCalls returns the part of the file that the references to functions fill,
// with the functions' offsets.
func (l *library) bindCalls() (table, error) {
	if len(l.plt.data) == 0 {
		return table{}, nil
	}
	var first, last uint64
	for r := range l.plt.references() {
		if first == 0 || r.at < first {
			first = r.at
		}
		last = max(last, r.at)
	}
	pointers, err := l.load(first, last-first+pointerSize)
	if err != nil {
		return table{}, err
	}
	for r := range l.plt.references() {
		if offset, ok := l.bind(r); ok {
			binary.LittleEndian.PutUint64(pointers.data[r.at-first:], offset)
		}
	}
	return pointers, nil
}
