// Package opstamp marks libraries of operations with the sources and the TensorFlow
// version that they were built with.
//
// TensorFlow's C++ interface changes with every minor version. A library for another
// version may load and then corrupt memory, and does not contain the version that it
// was built for. So "millrace ops build" compiles one more source file into the
// library, which defines a string:
//
//	extern "C" const char millrace_ops_stamp[] = "tensorflow=2.21.0&sources=5f1c...";
//
// Read finds the string in the file. It does not load the library, which would
// run its code.
package opstamp

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"millrace/internal/base/regularfile"
)

// symbol is the name of the string in the library.
const symbol = "millrace_ops_stamp"

// maxSize is the maximum size of a stamp in bytes.
const maxSize = 4096

// Stamp describes the sources and the TensorFlow version of a library.
type Stamp struct {
	TensorFlow string // version of the headers: "2.21.0"
	Sources    string // digest of the sources and of the compiler's arguments
}

// Source returns the C++ source that defines the stamp in a library.
func (s Stamp) Source() []byte {
	text := url.Values{"tensorflow": {s.TensorFlow}, "sources": {s.Sources}}.Encode()
	return fmt.Appendf(nil, "extern \"C\" __attribute__((visibility(\"default\"))) const char %s[];\n"+
		"const char %s[] = %q;\n", symbol, symbol, text)
}

// Fits reports whether a library can be loaded into a version of TensorFlow: the minor
// version must equal the headers'.
func (s Stamp) Fits(version string) bool { return minor(s.TensorFlow) == minor(version) }

// minor returns a version without its patch: "2.21".
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// Read returns the stamp of a library, and whether it has one. Libraries that
// other tools built have none.
func Read(path string) (Stamp, bool, error) {
	f, err := regularfile.OpenELF(path)
	if err != nil {
		return Stamp{}, false, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return Stamp{}, false, nil
	}
	if err != nil {
		return Stamp{}, false, err
	}
	for _, s := range symbols {
		if s.Name == symbol && int(s.Section) < len(f.Sections) && s.Size <= maxSize {
			return parse(f.Sections[s.Section], s)
		}
	}
	return Stamp{}, false, nil
}

// parse reads the string of a symbol.
func parse(section *elf.Section, s elf.Symbol) (Stamp, bool, error) {
	text := make([]byte, s.Size)
	if section.Type == elf.SHT_NOBITS || s.Value < section.Addr {
		return Stamp{}, false, nil
	}
	if _, err := section.ReadAt(text, int64(s.Value-section.Addr)); err != nil {
		return Stamp{}, false, fmt.Errorf("read %s: %w", symbol, err)
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	values, err := url.ParseQuery(string(text))
	if err != nil || values.Get("tensorflow") == "" {
		return Stamp{}, false, nil
	}
	return Stamp{TensorFlow: values.Get("tensorflow"), Sources: values.Get("sources")}, true, nil
}
