package stage

import (
	"fmt"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
)

// Files lists the data files.
type Files struct {
	Number int64
	Buffer int64 // of file names that are shuffled; 0 = in order
}

func files(c engine.Choice) []Stage {
	f := Files{Number: int64(len(c.Files))}
	if c.Shuffle != nil {
		f.Buffer = c.Shuffle.Filenames
	}
	return []Stage{f}
}

// Explain says how many files there are, and in which order they come.
func (f Files) Explain() Explained {
	what := figures.Plural(f.Number, "file", "files")
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
