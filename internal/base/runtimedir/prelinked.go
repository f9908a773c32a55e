package runtimedir

import (
	"path/filepath"

	"millrace"
)

// PrelinkedDir is the directory, below a runtime's directory, with its prelinked
// libraries: copies that open faster, see package prelink. It has a runtime.json.
const PrelinkedDir = "prelinked"

// PrelinkedPins returns the size and hash that each prelinked library of a runtime must
// have, nil if these libraries have not been tested prelinked.
func (p *Pins) PrelinkedPins(in *Installed) map[string]Pin {
	sums := map[string]string{}
	for _, l := range in.Libraries {
		sums[l.Name] = l.SHA256
	}
	if w := p.ByLibraries(sums); w != nil {
		return w.Prelinked
	}
	return nil
}

// Prelinked returns the prelinked libraries of a runtime. They must equal the result of
// this version of Millrace for the runtime's libraries, and be unchanged, as Verify
// checks. The error is fs.ErrNotExist if there are none.
func (p *Pins) Prelinked(in *Installed, full bool) (*Installed, error) {
	made, err := Read(filepath.Join(in.Dir, PrelinkedDir))
	if err != nil {
		return nil, err
	}
	pins := p.PrelinkedPins(in)
	for _, l := range made.Libraries {
		if l.SHA256 != pins[l.Name].SHA256 {
			return nil, problem(millrace.ErrRuntime, made.Dir, "is not what this millrace makes of the libraries of %v; type %s", in, Remedy)
		}
	}
	return made, made.Verify(full)
}
