package prelink

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Copy writes a prelinked copy of each library into a directory, under the
// library's base name. The libraries are in the order in which a program opens
// them, with RTLD_GLOBAL. The same libraries give the same bytes.
//
// A library for another machine than x86-64 is an error. After an error a copy
// may be incomplete.
func Copy(ctx context.Context, dir string, libraries ...string) error {
	before := map[string]bool{}
	for _, path := range libraries {
		l, err := open(path)
		if err != nil {
			return err
		}
		l.before = before
		err = l.copy(ctx, filepath.Join(dir, filepath.Base(path)))
		l.define(before)
		l.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// copy writes the copy of one library.
func (l *library) copy(ctx context.Context, path string) error {
	changes, err := l.changes()
	if err != nil {
		return fmt.Errorf("%s: %w", l.file.Name(), err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = l.copyAll(ctx, f)
	for _, c := range changes {
		if err == nil {
			_, err = f.WriteAt(c.data, c.at)
		}
	}
	return errors.Join(err, f.Close())
}

// piece is the number of bytes copied between two checks of the context.
const piece = 64 << 20

// copyAll copies the file. If the file system supports it, the copy shares the
// original's blocks: io.CopyN delegates to the kernel.
func (l *library) copyAll(ctx context.Context, f *os.File) error {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(f, l.file, piece); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// changes returns the parts of the file that differ in the copy.
func (l *library) changes() ([]table, error) {
	data, relative := l.bindData()
	calls, err := l.bindCalls()
	if err != nil {
		return nil, err
	}
	count, err := l.relativeCount(relative)
	return []table{{l.rela.at, data}, calls, count}, err
}

// relativeCount returns the value of DT_RELACOUNT: the number of relative references at
// the start of the table of references in data.
func (l *library) relativeCount(n int) (table, error) {
	const entrySize, valueAt = 16, 8
	for _, p := range l.elf.Progs {
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		entries := make([]byte, p.Filesz)
		if _, err := p.ReadAt(entries, 0); err != nil {
			return table{}, err
		}
		for at := 0; at+entrySize <= len(entries); at += entrySize {
			if elf.DynTag(binary.LittleEndian.Uint64(entries[at:])) == elf.DT_RELACOUNT {
				value := binary.LittleEndian.AppendUint64(nil, uint64(n))
				return table{int64(p.Off) + int64(at) + valueAt, value}, nil
			}
		}
	}
	return table{}, errors.New("no DT_RELACOUNT in the dynamic section")
}
