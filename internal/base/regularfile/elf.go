package regularfile

import (
	"debug/elf"
	"os"
)

// ELF is an open file in the format of programs and shared libraries.
type ELF struct {
	*elf.File
	file *os.File
}

// OpenELF opens a regular file and reads its tables, as [elf.Open] does, which would
// wait for the writer of a FIFO.
func OpenELF(path string) (*ELF, error) {
	file, _, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	tables, err := elf.NewFile(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &ELF{tables, file}, nil
}

// Close closes the file.
func (e *ELF) Close() error { return e.file.Close() }
