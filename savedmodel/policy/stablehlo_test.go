package policy

import (
	"bytes"
	"strings"
	"testing"

	"millrace/internal/test/modeltest"
)

// The modules in testdata are what jax 0.10's jax2tf.convert writes for
// tanh(x @ w) + sort(x), for a fixed shape and for one of any batch size, which
// calls shape_assertion.
func TestPlainModule(t *testing.T) {
	plain, assertion := modeltest.ReadFile(t, "testdata/plain.mlirbc"), modeltest.ReadFile(t, "testdata/shape_assertion.mlirbc")
	renamed := func(from, to string) []byte { return bytes.ReplaceAll(plain, []byte(from), []byte(to)) }
	tests := []struct {
		name   string
		module []byte
		want   bool
	}{
		{"plain", plain, true},
		{"custom call", assertion, false},
		{"custom call in the place of another operation", renamed("broadcast_in_dim_v1", "zz_custom_call_v1_z"), false},
		{"infeed in the place of another operation", renamed("tanh_v2\x00", "recv_v2\x00"), false},
		{"cut in the strings", plain[:len(plain)-10], false},
		{"cut in a section", plain[:60], false},
		{"text", []byte("module {}"), false},
		{"magic alone", moduleMagic, false},
		{"empty", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := isPlainModule(tt.module); got != tt.want {
				t.Errorf("isPlainModule = %v, want %v", got, tt.want)
			}
		})
	}
	names, ok := moduleStrings(plain)
	if !ok || !bytes.Contains(bytes.Join(names, []byte(" ")), []byte("tanh_v2")) {
		t.Errorf("the strings are %q, %v", names, ok)
	}
}

func FuzzPlainModule(f *testing.F) {
	f.Add(modeltest.ReadFile(f, "testdata/plain.mlirbc"))
	f.Add(modeltest.ReadFile(f, "testdata/shape_assertion.mlirbc"))
	f.Fuzz(func(t *testing.T, module []byte) {
		if isPlainModule(module) && bytes.Contains(module, []byte("custom_call")) {
			t.Error("a module with a custom call is plain")
		}
	})
}

// The trailing zero bits of the first byte of an MLIR number are the number of bytes
// that follow.
func TestModuleNumbers(t *testing.T) {
	tests := []struct {
		bytes string
		want  uint64
		left  int
		bad   bool
	}{
		{"\x03", 1, 0, false},
		{"\xff", 127, 0, false},
		{"\x03\x05", 1, 1, false},
		{"\x02\x01", 0x40, 0, false},
		{"\x04\x00\x01", 1 << 13, 0, false},
		{"\x80\x01\x00\x00\x00\x00\x00\x00", 1, 0, false},
		{"\x00\x01\x00\x00\x00\x00\x00\x00\x00", 1, 0, false},
		{"\x00\x01\x00\x00\x00\x00\x00\x00\x80\x09", 1 | 1<<63, 1, false},
		{"", 0, 0, true},
		{"\x02", 0, 0, true},
		{"\x00\x01\x00\x00\x00\x00\x00\x00", 0, 0, true},
	}
	for _, tt := range tests {
		b := &bytecode{rest: []byte(tt.bytes)}
		if got := b.number(); got != tt.want || b.bad != tt.bad || !tt.bad && len(b.rest) != tt.left {
			t.Errorf("number(%x) = %d, bad %v, %d bytes left, want %d, %v, %d", tt.bytes, got, b.bad, len(b.rest), tt.want, tt.bad, tt.left)
		}
	}
}

// A module has one table of strings. With two, another reader may use the other.
func TestModuleOfTwoTables(t *testing.T) {
	const table = "\x00" + "\x09" + "\x03" + "\x05" + "a\x00" // kind 0, 4 bytes: one string of 2 bytes, which is "a"
	module := func(sections ...string) []byte {
		return []byte(string(moduleMagic) + "\x0d" + "producer\x00" + strings.Join(sections, ""))
	}
	_, one := moduleStrings(module(table))
	_, two := moduleStrings(module(table, table))
	_, none := moduleStrings(module())
	_, cut := moduleStrings(bytes.TrimSuffix(module(), []byte("\x00")))
	if !one || two || none || cut {
		t.Errorf("one table: %v, two: %v, none: %v, cut: %v, want only one to do", one, two, none, cut)
	}
}

// Every string of a module's table has its length and its zero byte, and no bytes are
// left over.
func TestStringsOfModules(t *testing.T) {
	number := func(n int) string { return string(rune(n<<1 | 1)) } // up to 63
	for _, tt := range []struct {
		name, table string
		want        string // each followed by "|"; "-": refused
	}{
		{"none", number(0), ""},
		{"one", number(1) + number(2) + "a\x00", "a|"},
		{"two, the length of the last first", number(2) + number(3) + number(2) + "a\x00bc\x00", "a|bc|"},
		{"an empty one", number(2) + number(1) + number(2) + "a\x00\x00", "a||"},
		{"a length of 0", number(1) + number(0), "-"},
		{"a length of 0 behind a zero", number(2) + number(0) + number(1) + "\x00", "-"},
		{"more than there is", number(1) + number(3) + "a\x00", "-"},
		{"as long as what is left", number(1) + number(2) + "a\x00", "a|"},
		{"no zero", number(1) + number(2) + "ab", "-"},
		{"something left", number(1) + number(2) + "a\x00b", "-"},
		{"more strings than bytes", number(3) + number(1), "-"},
		{"no count", "", "-"},
		{"no lengths", number(1), "-"},
	} {
		names, ok := (&bytecode{rest: []byte(tt.table)}).strings()
		got := "-"
		if ok {
			got = string(bytes.Join(append(names, nil), []byte("|")))
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A section may be aligned: padding with one byte value aligns it, counted from the
// start of the module.
func TestSectionsOfModules(t *testing.T) {
	const kind, pad = 5, "\xcb"
	section := func(before int, b string) (byte, string, *bytecode) {
		s := &bytecode{rest: []byte(b)}
		kind, contents := s.section(before + len(b))
		return kind, string(contents), s
	}
	for _, tt := range []struct {
		name   string
		before int // bytes of the module before the section
		bytes  string
		want   string
		left   int
		bad    bool
	}{
		{"plain", 0, "\x05\x05abc", "ab", 1, false},
		{"empty", 0, "\x05\x01", "", 0, false},
		{"longer than the rest", 0, "\x05\x05a", "", 0, true},
		{"aligned, without padding", 1, "\x85\x05\x09abc", "ab", 1, false},
		{"aligned to 1", 0, "\x85\x05\x03abc", "ab", 1, false},
		{"aligned to 0", 0, "\x85\x05\x01abc", "ab", 1, false},
		{"aligned, with padding", 0, "\x85\x05\x09" + pad + "abc", "ab", 1, false},
		{"aligned, with much padding", 2, "\x85\x05\x11" + pad + pad + pad + "abc", "ab", 1, false},
		{"another value for padding", 0, "\x85\x05\x09\x00abc", "", 0, true},
		{"no padding", 0, "\x85\x05\x09", "", 0, true},
		{"no length", 0, "\x05", "", 0, true},
		{"no alignment", 0, "\x85\x05", "", 0, true},
	} {
		got, contents, s := section(tt.before, tt.bytes)
		if got != kind || contents != tt.want || s.bad != tt.bad || !tt.bad && len(s.rest) != tt.left {
			t.Errorf("%s: kind %d, %q, bad %v, %d bytes left", tt.name, got, contents, s.bad, len(s.rest))
		}
	}
}
