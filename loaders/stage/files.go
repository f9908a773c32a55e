package stage

import (
	"fmt"
	"slices"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Files lists the data files.
type Files struct {
	List   []spec.DataFile
	Buffer int64 // size of the shuffle buffer of file names; 0 = in order
}

func files(c engine.Choice) []Stage {
	f := Files{List: c.Files}
	if c.Shuffle != nil {
		f.Buffer = c.Shuffle.Filenames
	}
	return []Stage{f}
}

// Remote reports whether only TensorFlow can look at some of the files.
func (f Files) Remote() bool {
	return slices.ContainsFunc(f.List, func(d spec.DataFile) bool { return d.Remote })
}

// Explain says how many files there are, and in which order they come.
func (f Files) Explain() Explained {
	what := figures.Plural(int64(len(f.List)), "file", "files")
	if f.Buffer == 0 {
		return Explained{Name: FilesName, What: what + ", in order"}
	}
	return Explained{Name: FilesName, What: fmt.Sprintf("%s, names shuffled in a buffer of %s", what, figures.Count(f.Buffer))}
}

// count returns the records of one pass over the files.
func (f Files) count(_ Count, d Data) (Count, bool) {
	records, known := d.Found.Records()
	return Count{Elements: records, Parts: 1, Rows: 1}, known
}
