package tfbridge

import (
	"bufio"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/internal/base/runtimedir"
	"millrace/internal/test/testruntime"
)

// needPrelinked skips a test, or fails it, if the runtime has no prelinked
// libraries.
func needPrelinked(t *testing.T) *Runtime {
	t.Helper()
	testruntime.Need(t)
	r, err := Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Prelinked() {
		return r
	}
	in, err := runtimedir.Read(r.Dir())
	if err == nil && runtimedir.Pinned().PrelinkedPins(in) != nil && os.Getenv(testruntime.Env) == testruntime.Required {
		t.Fatalf("the libraries are not prelinked; type %s", runtimedir.Remedy)
	}
	t.Skip("the libraries are not prelinked")
	return nil
}

// Without prelinked libraries that can be trusted, Open opens the originals.
func TestPrelinkedOrOriginal(t *testing.T) {
	r := needPrelinked(t)
	opens := func(name, dir, env, want string) {
		out, ok := child(t, "prelinked", RuntimeEnv+"="+dir, PrelinkedEnv+"="+env)
		if !ok || out != want+"\n" {
			t.Errorf("%s\n got %s\nwant %s", name, out, want)
		}
	}
	dir := linkRuntime(t, r.Dir())
	opens("linked", dir, "", "true <nil>")
	opens("turned off", dir, "false", "false <nil>")
	opens("misspelt", dir, "maybe", `false environment variable `+PrelinkedEnv+` is "maybe", want true or false`)
	library := filepath.Join(dir, runtimedir.PrelinkedDir, runtimedir.LibraryCC)
	if err := os.Remove(library); err != nil {
		t.Fatal(err)
	}
	opens("missing", dir, "", "false <nil>")
	if err := os.WriteFile(library, []byte("cut"), 0o644); err != nil {
		t.Fatal(err)
	}
	opens("cut", dir, "", "false <nil>")
}

// linkRuntime returns a directory with links to the libraries of a runtime, and
// with copies of its lists.
func linkRuntime(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"", runtimedir.PrelinkedDir} {
		list, err := os.ReadFile(filepath.Join(from, sub, runtimedir.InfoFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, sub, runtimedir.InfoFile), list, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, name := range runtimedir.Libraries {
			if err := os.Symlink(filepath.Join(from, sub, name), filepath.Join(dir, sub, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// Each pointer that the dynamic linker fills is the same in a process with prelinked
// libraries and in a process in which the dynamic linker has looked up every name of
// the originals.
func TestPrelinkedPointers(t *testing.T) {
	r := needPrelinked(t)
	dir := t.TempDir()
	filled := func(name string, env ...string) map[string][]byte {
		out, ok := child(t, "pointers", append(env, "POINTERS="+filepath.Join(dir, name))...)
		if want := fmt.Sprintf("prelinked %t\n", name == "prelinked"); !ok || out != want {
			t.Fatalf("child\n got %s\nwant %s", out, want)
		}
		all := map[string][]byte{}
		for _, library := range runtimedir.Libraries {
			b, err := os.ReadFile(filepath.Join(dir, name+library))
			if err != nil {
				t.Fatal(err)
			}
			all[library] = b
		}
		return all
	}
	prelinked := filled("prelinked", "LD_BIND_NOW=", PrelinkedEnv+"=")
	original := filled("original", "LD_BIND_NOW=1", PrelinkedEnv+"=false")
	for _, library := range runtimedir.Libraries {
		comparePointers(t, filepath.Join(r.Dir(), library), prelinked[library], original[library])
	}
}

// comparePointers compares the pointers of one library. Memory outside of files has
// location 0. A call that is not yet resolved points to the library's own stub that
// resolves it.
func comparePointers(t *testing.T, path string, got, want []byte) {
	l := openPointers(path)
	defer l.Close()
	if len(l.pointers) < 1000 || len(got) != 8*len(l.pointers) || len(want) != len(got) {
		t.Fatalf("%s: %d pointers, %d and %d bytes", path, len(l.pointers), len(got), len(want))
	}
	lazy, wrong, outside := 0, 0, 0
	for i, p := range l.pointers {
		g, w := binary.LittleEndian.Uint64(got[8*i:]), binary.LittleEndian.Uint64(want[8*i:])
		if w == 0 {
			outside++
		}
		switch {
		case g == w:
		case p.kind == elf.R_X86_64_JMP_SLOT && g == place(filepath.Base(path), l.stub(p)):
			lazy++
		default:
			if wrong++; wrong <= 10 {
				t.Errorf("%s: the pointer at %#x (%v) is another: %x, want %x", path, p.at, p.kind, g, w)
			}
		}
	}
	t.Logf("%s: %d pointers, %d differ, %d calls not yet resolved, %d lead to no file", path, len(l.pointers), wrong, lazy, outside)
	if enough := len(l.pointers) / 20; lazy > enough || outside > enough {
		t.Errorf("%s: too few of %d pointers say anything", path, len(l.pointers))
	}
}

// pointersChild writes, for each library, the targets of the pointers that the dynamic
// linker fills.
func pointersChild() {
	r, err := Open(nil)
	if err != nil {
		report(err)
		return
	}
	fmt.Printf("prelinked %t\n", r.Prelinked())
	maps := readMaps()
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		panic(err)
	}
	for _, name := range runtimedir.Libraries {
		l := openPointers(filepath.Join(r.Dir(), name))
		var out []byte
		for _, value := range l.values(memory, maps.base(name)) {
			out = binary.LittleEndian.AppendUint64(out, maps.place(value))
		}
		if err := os.WriteFile(os.Getenv("POINTERS")+name, out, 0o600); err != nil {
			panic(err)
		}
	}
}

// pointer is an address that the dynamic linker fills.
type pointer struct {
	at   uint64
	kind elf.R_X86_64
}

// pointers are the pointers of a library as it was installed.
type pointers struct {
	*elf.File
	pointers []pointer
}

// openPointers reads a library's tables of relocations.
func openPointers(path string) *pointers {
	f, err := elf.Open(path)
	if err != nil {
		panic(err)
	}
	l := &pointers{File: f}
	for _, name := range []string{".rela.dyn", ".rela.plt"} {
		table, err := f.Section(name).Data()
		if err != nil {
			panic(err)
		}
		for ; len(table) > 0; table = table[24:] {
			p := pointer{binary.LittleEndian.Uint64(table), elf.R_X86_64(binary.LittleEndian.Uint32(table[8:]))}
			switch p.kind {
			case elf.R_X86_64_RELATIVE, elf.R_X86_64_64, elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT:
				l.pointers = append(l.pointers, p)
			}
		}
	}
	return l
}

// values returns the pointers of a library loaded at an address.
func (l *pointers) values(memory io.ReaderAt, base uint64) []uint64 {
	segments := map[*elf.Prog][]byte{}
	var values []uint64
	for _, p := range l.pointers {
		s := l.segment(p)
		if segments[s] == nil {
			segments[s] = make([]byte, s.Filesz)
			if _, err := memory.ReadAt(segments[s], int64(base+s.Vaddr)); err != nil {
				panic(err)
			}
		}
		values = append(values, binary.LittleEndian.Uint64(segments[s][p.at-s.Vaddr:]))
	}
	return values
}

// segment returns the segment that contains a pointer.
func (l *pointers) segment(p pointer) *elf.Prog {
	for _, s := range l.Progs {
		if s.Type == elf.PT_LOAD && p.at >= s.Vaddr && p.at < s.Vaddr+s.Filesz {
			return s
		}
	}
	panic(fmt.Sprintf("no segment has the pointer at %#x", p.at))
}

// stub returns the target of a function pointer before the first call.
func (l *pointers) stub(p pointer) uint64 {
	var b [8]byte
	s := l.segment(p)
	if _, err := s.ReadAt(b[:], int64(p.at-s.Vaddr)); err != nil {
		panic(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// mapping is a part of this process's memory.
type mapping struct {
	from, to, base uint64
	name           string // the file's base name; "" outside of files
	start          uint64 // the offset of base
}

type mappings []mapping

// readMaps reads the mappings. Memory that directly follows that of a file is
// the rest of a library's variables.
func readMaps() (all mappings) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m mapping
		var offset uint64
		fmt.Sscanf(lines.Text(), "%x-%x %s %x", &m.from, &m.to, new(string), &offset)
		var before mapping
		if len(all) > 0 {
			before = all[len(all)-1]
		}
		fields := strings.Fields(lines.Text())
		if len(fields) > 5 {
			m.name = filepath.Base(fields[5])
		}
		switch {
		case m.name == "" && m.from == before.to, m.name != "" && m.name == before.name:
			m.name, m.base = before.name, before.base
		default:
			m.base = m.from
		}
		if m.name != "" {
			m.start = place(m.name, 0)
		}
		all = append(all, m)
	}
	return all
}

// base returns the address of a library.
func (m mappings) base(name string) uint64 {
	for _, part := range m {
		if part.name == name {
			return part.base
		}
	}
	panic("not loaded: " + name)
}

// place describes an address by numbers that are the same in each process.
func (m mappings) place(address uint64) uint64 {
	i, _ := slices.BinarySearchFunc(m, address, func(part mapping, address uint64) int {
		return cmp.Compare(part.to, address+1)
	})
	if i == len(m) || address < m[i].from || m[i].name == "" {
		return 0
	}
	return m[i].start + address - m[i].base
}

// place returns the number of a position in a file.
func place(name string, offset uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() + offset
}
