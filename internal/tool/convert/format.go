package convert

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"millrace"
)

// format is a format of inputs.
type format struct {
	name       string
	extensions []string
	textual    bool // every value can be a text

	// survey reads the columns of a file and counts its rows.
	survey func(ctx context.Context, path string) (*survey, error)

	// open begins to read the rows of a file. The columns are those of all inputs; the
	// file may lack some.
	open func(path string, columns []Column) (source, error)

	// withClasses returns the format of files that have these classes; nil: the format
	// has no classes.
	withClasses func(classes []string) *format
}

// survey is the result of a pass over a file.
type survey struct {
	rows    int64
	columns []Column
	notes   []string // remarks for the user
}

// source reads the rows of a file.
type source interface {
	// next returns the next rows, and io.EOF after the last ones.
	next() (block, error)
	Close() error
}

// block is a number of rows. Several goroutines may read different blocks.
type block interface {
	rows() int

	// size returns the approximate memory of the block.
	size() int64

	// row returns the number of a row in its file, for messages: from 1, or the line.
	row(i int) int64

	// read adds the values of a column in a row to v. The error has no location.
	read(v *values, column, row int) error
}

// freeBlock is a block whose memory can be reused after its rows were read.
type freeBlock interface {
	block
	free()
}

// recordBlock is a block whose rows are already records.
type recordBlock interface {
	block
	record(row int) []byte
}

// formats lists the formats.
var formats = []*format{csvFormat, tsvFormat, ndjsonFormat, parquetFormat, ipcFormat, npzFormat, imageFormat, wavFormat, recordFormat}

// extensionList names the formats in a message: ".csv, .tsv, .ndjson".
func extensionList() string {
	var all []string
	for _, f := range formats {
		all = append(all, f.extensions...)
	}
	return strings.Join(all, ", ")
}

// formatOf returns the format of a file by its name, nil if there is none.
func formatOf(path string) *format {
	ext := strings.ToLower(filepath.Ext(path))
	for _, f := range formats {
		if slices.Contains(f.extensions, ext) {
			return f
		}
	}
	return nil
}

// Input is a file to convert.
type Input struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	ModTime string `json:"modified"`
	Rows    int64  `json:"rows"`
}

// findInputs returns the files that the arguments name, and their format, which is the
// same for all. A folder stands for all its files of a format, at any depth, by name.
func findInputs(args []string) ([]Input, *format, error) {
	var inputs []Input
	var of *format
	for _, arg := range args {
		files, err := filesOf(arg)
		if err != nil {
			return nil, nil, err
		}
		for _, path := range files {
			f := formatOf(path)
			switch {
			case f == nil:
				return nil, nil, inputError(path, "the format is not known by the name; there are %s", extensionList())
			case of == nil:
				of = f
			case of != f:
				return nil, nil, inputError(path, "the file is %s, those before it are %s; convert each format to a dataset of its own", f.name, of.name)
			}
			info, err := os.Stat(path)
			if err != nil {
				return nil, nil, ioError(path, err)
			}
			inputs = append(inputs, Input{Path: path, Bytes: info.Size(), ModTime: info.ModTime().UTC().Format("2006-01-02T15:04:05.999999999Z")})
		}
	}
	return inputs, of, nil
}

// filesOf returns a file, or the files of a format below a folder.
func filesOf(arg string) ([]string, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, ioError(arg, err)
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return nil, inputError(arg, "not a regular file; inputs are read twice")
		}
		return []string{arg}, nil
	}
	var files []string
	err = filepath.WalkDir(arg, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") && path != arg {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if e.Type().IsRegular() && formatOf(path) != nil {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, ioError(arg, err)
	}
	if len(files) == 0 {
		return nil, inputError(arg, "no file in this folder has a known format; there are %s", extensionList())
	}
	return files, nil
}

// inputError is a mistake in the arguments that name inputs.
func inputError(path, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrConfig, format, args...)
	e.File = path
	return e
}

// dataError is a mistake in an input.
func dataError(path, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrSchema, format, args...)
	if errors.Is(e.Err, millrace.ErrLimit) {
		e.Class = millrace.ErrLimit
	}
	e.File = path
	return e
}

func ioError(path string, err error) error {
	if e, ok := err.(*fs.PathError); ok {
		err = e.Err
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", err)
	e.File = path
	return e
}
