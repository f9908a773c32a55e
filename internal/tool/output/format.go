package output

import (
	"path/filepath"
	"strings"

	"millrace"
)

// Format is a file format of predictions.
type Format struct {
	Name       string   // name in messages and help: "NDJSON"
	Extensions []string // lower case, with the dot
	new        func(*sink) encoder
}

// formats lists the formats. The first extension of each is the usual one.
var formats = []Format{
	{Name: "NDJSON", Extensions: []string{".ndjson", ".jsonl"}, new: newNDJSON},
	{Name: "TFRecord", Extensions: []string{".tfrecords", ".tfrecord"}, new: newRecords},
	{Name: "NumPy", Extensions: []string{".npz"}, new: newNPZ},
	{Name: "Parquet", Extensions: []string{".parquet"}, new: newParquet},
}

// FormatOf returns the format for a path's extension; the path "-" means NDJSON to
// standard output.
func FormatOf(path string) (Format, error) {
	if path == Stdout {
		return formats[0], nil
	}
	ext := strings.ToLower(filepath.Ext(path))
	var known []string
	for _, f := range formats {
		for _, e := range f.Extensions {
			if e == ext {
				return f, nil
			}
		}
		known = append(known, f.Extensions[0])
	}
	err := millrace.Errorf(millrace.ErrConfig, "no output format has the extension %q; use one of %s",
		ext, strings.Join(known, ", "))
	err.File = path
	return Format{}, err
}
