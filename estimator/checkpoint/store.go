package checkpoint

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
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
// On a file system like ext4, creating a file is slow if many were removed in the last
// half minute, because it looks for a number that was not used recently. So a
// checkpoint makes few files, and .writing stays as long as the store is open.

// Store is a folder of checkpoints that this process writes. One goroutine at a
// time may call its methods.
type Store struct {
	dir    string
	lock   *lock
	writer *writer
	specs  []dtype.TensorSpec
	saved  int64 // the step of the last checkpoint that Save wrote; -1: none
}

// Open makes the folder if there is none, locks it against other processes, checks that
// files can be written in it, and removes what a killed process left. The caller closes
// it.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, failure(dir, "make folder", err)
	}
	l, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, lock: l, saved: -1}
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

// probe checks at the start whether files can be written, so that the error does not
// come only with the first checkpoint.
func (s *Store) probe() error {
	dir := filepath.Join(s.dir, writing)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return failure(dir, "make folder", err)
	}
	probe := filepath.Join(dir, "probe")
	defer os.Remove(probe)
	return WriteFile(probe, []byte("probe"))
}

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
	if err := s.remove(step); err != nil {
		return err
	}
	dir := filepath.Join(s.dir, writing)
	err := s.write(dir, c)
	if err == nil {
		err = publish(dir, s.dir, step)
	}
	if err != nil {
		os.RemoveAll(dir) // the reason for the failure may be a full disk
		return err
	}
	stay, leave, err := keep.split(s.dir, step)
	if err != nil {
		return err
	}
	if err := writeMarker(s.dir, stay); err != nil {
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
	if err := checkSpace(s.dir, need+need/8+1<<16); err != nil {
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
	if full := checkSpace(s.dir, need); full != nil {
		return failure(prefix, "write", errors.Join(err, unix.ENOSPC))
	}
	e := failure(prefix, "write", err)
	if !errors.Is(err, tfbridge.ResourceExhausted) {
		e.Err = errors.Join(err, millrace.ErrIO)
	}
	return e
}

func sameSpec(a, b dtype.TensorSpec) bool { return a.Name == b.Name && a.DType == b.DType }

// publish forces the files of a step to the disk and gives them their names.
func publish(from, to string, step int64) error {
	for _, name := range files(step) {
		if err := syncFile(filepath.Join(from, name)); err != nil {
			return err
		}
	}
	for _, name := range files(step) {
		if err := atomicfile.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return failure(filepath.Join(to, name), "rename", atomicfile.Cause(err))
		}
	}
	return SyncFolder(to)
}

// files returns the names of a checkpoint's files. The last one exists only if the
// others are complete.
func files(step int64) []string {
	return []string{base(step) + ".data-00000-of-00001", base(step) + ".index", base(step) + ".json"}
}

// remove removes the files of a step, if there are any.
func (s *Store) remove(step int64) error {
	for _, name := range slices.Backward(files(step)) {
		name = filepath.Join(s.dir, name)
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return failure(name, "remove", err)
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
	os.Remove(filepath.Join(s.dir, writing)) // empty, unless a failure left something to sweep
	return errors.Join(err, s.lock.Close())
}
