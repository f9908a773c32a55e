package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/scratch"
	"millrace/remote"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// How a checkpoint is written, so that a process or a machine that stops at any
// moment leaves the old one or the new one, and never neither:
//
//	checkpoints/
//	  .lock                               held by the process that trains
//	  .writing/ckpt-1000.data-00000-of-00001      1. TensorFlow writes here
//	  .writing/ckpt-1000.index
//	  .writing/ckpt-1000.json                     2. what it is, with the digest of the index
//	                                              3. each file is forced to the disk
//	  ckpt-1000.data-00000-of-00001               4. renamed in this order,
//	  ckpt-1000.index                                and the folder forced to the disk
//	  ckpt-1000.json
//	  checkpoint                                  5. replaced by a rename: from here on 1000 counts
//	  ckpt-500.*                                  6. what is not kept is removed
//
// TensorFlow's SaveV2 alone would not do: it renames two files, one after the
// other, and never forces them to the disk. Between those two renames neither
// the old nor the new content of a prefix can be read. So a prefix that can be
// read is never used again.
//
// The next process removes what a killed one left: the files in .writing, and files of
// steps without ckpt-STEP.json or newer than the step in the file "checkpoint".
//
// In a store the files are written in a private folder of this machine and then uploaded, in the
// same order. Each object is whole or absent, so a reader that finds ckpt-STEP.json finds the other
// two. A store has no locks: see checkOwner.
//
// On a file system like ext4, creating a file is slow if many were removed in the last
// half minute, because it looks for a number that was not used recently. So a
// checkpoint makes few files, and .writing stays as long as the store is open.

// Store is a folder of checkpoints that this process writes, or a URL. One goroutine at a
// time may call its methods.
type Store struct {
	dir     string
	writing string          // the folder in which files are written
	lock    *lock           // nil for a URL
	scratch *scratch.Folder // has the folder writing; nil for a folder
	marked  []byte          // the marker of a URL, as this process has written or found it

	writer *writer
	specs  []dtype.TensorSpec
	saved  int64 // the step of the last checkpoint that Save wrote; -1: none
}

// Open makes the folder if there is none, locks it against other processes, checks that
// files can be written in it, and removes what a killed process left. The caller closes
// it. The URL of a store may stand for the folder. It has no lock, so do not open one twice.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir, writing: filepath.Join(dir, writingName), saved: -1}
	err := s.acquire()
	if err != nil {
		return nil, err
	}
	err = s.sweep()
	if err == nil {
		err = s.probe()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// acquire makes the folder and locks it. For a URL it makes a private folder, and remembers who
// has written there.
func (s *Store) acquire() (err error) {
	if remote.IsURL(s.dir) {
		s.dir = strings.TrimSuffix(s.dir, "/")
		if s.marked, err = readText(remote.Join(s.dir, markerName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if s.scratch, err = scratch.New(); err != nil {
			return failure(s.dir, "make a private folder", err)
		}
		s.writing = filepath.Join(s.scratch.Path, writingName)
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return failure(s.dir, "make folder", err)
	}
	s.lock, err = acquire(s.dir)
	return err
}

// probe checks at the start whether files can be written, so that the error does not
// come only with the first checkpoint.
func (s *Store) probe() error {
	if err := os.MkdirAll(s.writing, 0o777); err != nil {
		return failure(s.writing, "make folder", err)
	}
	probe := filepath.Join(s.writing, probeName)
	if s.scratch != nil {
		probe = remote.Join(s.dir, probeName)
	}
	if err := WriteFile(probe, []byte("probe")); err != nil {
		return err
	}
	return removeFile(probe)
}

const probeName = "probe"

// Dir returns the folder.
func (s *Store) Dir() string { return s.dir }

// Content is the content of a checkpoint.
type Content struct {
	Specs  []dtype.TensorSpec // the same for all checkpoints of a store
	Values []*tfbridge.Tensor // values in the order of the names
	Info   Info
}

// Keep selects the checkpoints that stay after a new one was written.
type Keep struct {
	Newest int64   // this many of the newest, including the new one; at least 1
	Steps  []int64 // these steps as well
}

// Save writes a checkpoint from which training can resume. Then it removes all others
// except those that keep names. Saving the same step again does nothing. After a
// failure the previous checkpoint is unchanged.
//
// Checkpoints of this step and of later ones that Save did not write are replaced and
// removed. They are damaged, because a training resumes from the newest undamaged one.
func (s *Store) Save(c *Content, keep Keep) error {
	step := c.Info.Step
	if s.saved == step {
		return nil
	}
	if err := s.checkOwner(); err != nil {
		return err
	}
	if err := s.remove(step); err != nil {
		return err
	}
	err := s.write(s.writing, c)
	if err == nil {
		err = s.publish(step)
	}
	if err != nil {
		os.RemoveAll(s.writing) // the reason for the failure may be a full disk
		return err
	}
	stay, leave, err := keep.split(s.dir, step)
	if err != nil {
		return err
	}
	if err := s.checkOwner(); err != nil {
		return err
	}
	if err := s.writeMarker(stay); err != nil {
		return err
	}
	s.saved = step
	for _, old := range leave {
		if err := s.remove(old); err != nil {
			return err
		}
	}
	return nil
}

// split divides the checkpoints of a folder, given by their steps, into those to keep, the
// newest last, and those to remove.
func (k Keep) split(dir string, newest int64) (stay, leave []int64, err error) {
	steps, err := Steps(dir)
	if err != nil {
		return nil, nil, err
	}
	old := slices.Index(steps, newest) + 1 // up to newest, which is there
	for i, step := range steps[:old] {
		if int64(old-i) <= max(k.Newest, 1) || slices.Contains(k.Steps, step) {
			stay = append(stay, step)
		} else {
			leave = append(leave, step)
		}
	}
	return stay, append(leave, steps[old:]...), nil
}

// write writes the files of a checkpoint into a temporary folder.
func (s *Store) write(dir string, c *Content) error {
	var need int64
	for _, t := range c.Values {
		need += t.ByteSize()
	}
	if err := checkSpace(s.disk(), need+need/8+1<<16); err != nil {
		return err
	}
	if s.writer == nil || !slices.EqualFunc(s.specs, c.Specs, sameSpec) {
		w, err := newWriter(c.Specs)
		if err != nil {
			return err
		}
		if s.writer != nil {
			s.writer.close()
		}
		s.writer, s.specs = w, c.Specs
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return failure(dir, "make folder", err)
	}
	prefix := filepath.Join(dir, base(c.Info.Step))
	if err := s.writer.write(prefix, c.Values); err != nil {
		return s.writeFailure(prefix, need, err)
	}
	index, err := regularfile.ReadFile(prefix+".index", savedmodel.MaxIndexBytes)
	if err != nil {
		return failure(prefix, "read", err)
	}
	c.Info.SHA256, c.Info.Bytes = fmt.Sprintf("%x", sha256.Sum256(index)), need
	text, err := json.MarshalIndent(&c.Info, "", "  ")
	if err != nil {
		return failure(prefix, "write", err)
	}
	return WriteFile(prefix+".json", append(text, '\n'))
}

// writeFailure returns the error for a failed write of TensorFlow. Its inputs are
// valid, so the system has failed. TensorFlow's code is the same for a full disk and
// for a lack of memory.
func (s *Store) writeFailure(prefix string, need int64, err error) error {
	if full := checkSpace(s.disk(), need); full != nil {
		return failure(prefix, "write", errors.Join(err, unix.ENOSPC))
	}
	e := failure(prefix, "write", err)
	if !errors.Is(err, tfbridge.ResourceExhausted) {
		e.Err = errors.Join(err, millrace.ErrIO)
	}
	return e
}

func sameSpec(a, b dtype.TensorSpec) bool { return a.Name == b.Name && a.DType == b.DType }

// disk returns a folder on the disk where checkpoints are written.
func (s *Store) disk() string {
	if s.scratch != nil {
		return s.scratch.Path
	}
	return s.dir
}

// publish forces the files of a step to the disk and gives them their names, or uploads them.
func (s *Store) publish(step int64) error {
	if s.scratch != nil {
		return s.upload(step)
	}
	for _, name := range files(step) {
		if err := syncFile(filepath.Join(s.writing, name)); err != nil {
			return err
		}
	}
	for _, name := range files(step) {
		if err := atomicfile.Rename(filepath.Join(s.writing, name), filepath.Join(s.dir, name)); err != nil {
			return failure(filepath.Join(s.dir, name), "rename", atomicfile.Cause(err))
		}
	}
	return SyncFolder(s.dir)
}

// upload copies the files of a step to the store, and removes them from the disk.
func (s *Store) upload(step int64) error {
	for _, name := range files(step) {
		if err := remote.UploadFile(context.Background(), filepath.Join(s.writing, name), remote.Join(s.dir, name)); err != nil {
			return err
		}
	}
	for _, name := range files(step) {
		if err := removeFile(filepath.Join(s.writing, name)); err != nil {
			return err
		}
	}
	return nil
}

// files returns the names of a checkpoint's files. The last one exists only if the
// others are complete.
func files(step int64) []string {
	return []string{base(step) + ".data-00000-of-00001", base(step) + ".index", base(step) + ".json"}
}

// remove removes the files of a step, if there are any.
func (s *Store) remove(step int64) error {
	for _, name := range slices.Backward(files(step)) {
		if err := removeFile(remote.Join(s.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the lock.
func (s *Store) Close() error {
	var err error
	if s.writer != nil {
		err = s.writer.close()
		s.writer = nil
	}
	if s.scratch != nil {
		err = errors.Join(err, s.scratch.Close())
		s.scratch = nil
	}
	if s.lock != nil {
		os.Remove(s.writing) // empty, unless a failure left something to sweep
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
