package runtimedir

import (
	"debug/elf"
	"errors"
	"io/fs"
	"runtime"

	"millrace"
	"millrace/internal/base/regularfile"
)

// machines maps the architectures of runtimes to their names in ELF.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64,
	"arm64": elf.EM_AARCH64,
}

// CheckELF reports a file that is not a shared object for this machine.
func CheckELF(path string) error {
	f, err := regularfile.OpenELF(path)
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return problem(millrace.ErrRuntime, path, "%w; type %s", perr.Err, Remedy)
	}
	if err != nil {
		return problem(millrace.ErrRuntime, path, "not a shared library: %w; type %s", err, Remedy)
	}
	defer f.Close()
	if f.Type != elf.ET_DYN {
		return problem(millrace.ErrRuntime, path, "not a shared library, but a file of type %v; type %s", f.Type, Remedy)
	}
	if want, ok := machines[runtime.GOARCH]; ok && f.Machine != want {
		return problem(millrace.ErrRuntime, path, "is for another machine: %v, want %v; type %s", f.Machine, want, Remedy)
	}
	return nil
}
