package sandbox

import (
	"os"
	"path/filepath"

	"millrace"
	"millrace/internal/base/scratch"
)

// Temp is a private folder for temporary files. While it is open, TMPDIR names it, so
// Go and TensorFlow make their temporary files in it.
type Temp struct {
	dir, parent string
	folder      *scratch.Folder
	old         string
	had         bool
}

// NewTemp makes the folder inside the folder for temporary files, and sets TMPDIR. A
// service makes it before [Restrict] and closes it at its end. It makes it also before
// TensorFlow opens, whose threads read the environment that this changes. The folder of a
// process that was killed is removed by the next process.
func NewTemp() (*Temp, error) {
	folder, err := scratch.New()
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrIO, "a private folder for temporary files: %w; TMPDIR says where it is made", err)
	}
	t := &Temp{dir: folder.Path, parent: filepath.Dir(folder.Path), folder: folder}
	t.old, t.had = os.LookupEnv(tmpdir)
	if err := os.Setenv(tmpdir, t.dir); err != nil {
		folder.Close()
		return nil, millrace.Errorf(millrace.ErrIO, "%w", err)
	}
	return t, nil
}

const tmpdir = "TMPDIR"

// Dir returns the folder.
func (t *Temp) Dir() string { return t.dir }

// Close removes the folder with its contents, and restores TMPDIR. It is idempotent.
func (t *Temp) Close() error {
	if t == nil || t.folder == nil {
		return nil
	}
	if t.had {
		os.Setenv(tmpdir, t.old)
	} else {
		os.Unsetenv(tmpdir)
	}
	err := t.folder.Close()
	t.folder = nil
	return err
}
