package savedmodel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"millrace"
	"millrace/internal/base/scratch"
	"millrace/savedmodel/modelfile"
)

// TensorFlow opens a model's files by their paths, some time after the check. In
// between another process may put other files there: a link to a file of the host, or a
// pipe that blocks forever. So TensorFlow gets paths in a private folder. The folder
// holds a copy of the index that was checked, which has the checksums of all tensors,
// and links to open descriptors of this process:
//
//	/tmp/millrace-model-1234/        0700
//	  variables/
//	    variables.index                     a copy
//	    variables.data-00000-of-00001   ->  /proc/self/fd/7
//	  assets/
//	    0/words.txt                     ->  /proc/self/fd/8
//
// A descriptor refers to the opened file, whatever happens to its path. TensorFlow may
// read an asset later, so the folder stays until the model is closed. If a process is
// killed, the next process that makes such a folder removes the old one. A lock shows
// which folders are in use.

// Stage is a model's files, ready for TensorFlow to load them. Close it with
// the model.
type Stage struct {
	// Variables is the prefix of the files that RestoreOp reads.
	Variables string
	// Assets are the paths of the program's assets, in the same order.
	Assets []string

	dir    string
	folder *scratch.Folder
	files  []*os.File
	clean  runtime.Cleanup
}

// Stage prepares the files that the model's program reads. It makes a folder only if
// the program reads files. Errors are of class ErrModel, ErrUnsafeModel or ErrIO.
func (m *Model) Stage() (*Stage, error) {
	s := &Stage{}
	if m.program.RestoreOp == "" && len(m.program.Assets) == 0 {
		return s, nil
	}
	in, err := modelfile.Open(m.Dir)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if m.unchecked {
		in.Refused = func(error) {} // Read has already reported it
	}
	err = s.make()
	if err == nil && m.program.RestoreOp != "" {
		err = s.addVariables(in, m)
	}
	for i := 0; err == nil && i < len(m.program.Assets); i++ {
		err = s.addAsset(in, i, m.program.Assets[i])
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// make makes the private folder.
func (s *Stage) make() error {
	folder, err := scratch.New()
	if err != nil {
		return s.failed(err)
	}
	s.dir, s.folder = folder.Path, folder
	s.clean = runtime.AddCleanup(s, func(f *scratch.Folder) { f.Close() }, folder)
	return nil
}

// failed returns the error for a private folder that cannot be made.
func (s *Stage) failed(err error) error {
	if err == nil {
		return nil
	}
	e := millrace.Errorf(millrace.ErrIO, "a private folder for the model's files: %w; TMPDIR says where it is made", err)
	e.Op = "load model"
	return e
}

// addVariables adds the index and links to the data files.
func (s *Stage) addVariables(in *modelfile.Folder, m *Model) error {
	dir := filepath.Join(s.dir, "variables")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return s.failed(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, indexName), m.bundle.Data, 0o600); err != nil {
		return s.failed(err)
	}
	for shard := range m.bundle.Shards {
		name := m.bundle.ShardName(shard)
		if err := s.link(in, name, filepath.Join(s.dir, name)); err != nil {
			return err
		}
	}
	s.Variables = filepath.Join(dir, "variables")
	return nil
}

// addAsset adds a link to an asset under its original name, in a separate folder: a
// reader may depend on the suffix of the name.
func (s *Stage) addAsset(in *modelfile.Folder, i int, a Asset) error {
	dir := filepath.Join(s.dir, assetsName, strconv.Itoa(i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s.failed(err)
	}
	path := filepath.Join(dir, filepath.Base(a.File))
	s.Assets = append(s.Assets, path)
	err := s.link(in, a.File, path)
	if errors.Is(err, fs.ErrNotExist) { // no operation reads it, or the model would have been refused
		return nil
	}
	return err
}

// link opens a file of the model's folder and makes a link to the opened file.
func (s *Stage) link(in *modelfile.Folder, name, path string) error {
	o := in.Open(name)
	if o.Err != nil {
		return o.Err
	}
	s.files = append(s.files, o.File)
	target := "/proc/self/fd/" + strconv.Itoa(int(o.File.Fd()))
	if _, err := os.Stat(target); err != nil { // without /proc, the path itself is the best available
		if target, err = filepath.EvalSymlinks(o.Name); err == nil {
			target, err = filepath.Abs(target)
		}
		if err != nil {
			return modelfile.FailIO(o.Name, err)
		}
	}
	return s.failed(os.Symlink(target, path))
}

// Close removes the private folder and closes the files. It is idempotent.
func (s *Stage) Close() error {
	if s == nil || s.dir == "" {
		return nil
	}
	s.clean.Stop()
	err := s.folder.Close()
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	s.dir, s.files = "", nil
	return s.failed(err)
}
