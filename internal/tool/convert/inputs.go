package convert

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"millrace/remote"
)

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
			info, err := statInput(path)
			if err != nil {
				return nil, nil, err
			}
			inputs = append(inputs, Input{Path: path, Bytes: info.Size(), ModTime: info.ModTime().UTC().Format("2006-01-02T15:04:05.999999999Z")})
		}
	}
	return inputs, of, nil
}

// filesOf returns a file, or the files of a format below a folder.
func filesOf(arg string) ([]string, error) {
	if remote.IsURL(arg) {
		return objectsOf(arg)
	}
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
