package output

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/changes"
	"millrace/remote"
)

// # An output that survives its process
//
// The question. A prediction that has run all night is killed in the morning. A single
// output file is then lost: its end is missing, and some formats keep their index
// there. How do we keep the finished work, so that the same command continues after it,
// and so that half of an output is never mistaken for all of it?
//
// The answer. The output is a folder, as in other systems:
//
//	scores.parquet/
//	  part-00000.parquet    complete; N batches
//	  part-00001.parquet    complete; N batches
//	  _progress.json        the job, the parts so far, and their end position in the data
//	  _SUCCESS              the job, the parts and their contents; only when all is complete
//
// Each file is written under a temporary name, synced and renamed. The order of the
// renames makes it safe to kill the process at any system call:
//
//	begin:  _progress.json without parts
//	part:   part-i, then _progress.json that lists it
//	end:    the last part, then _progress.json that records the end, then _SUCCESS, then
//	        _progress.json is removed
//
// A part that is not listed is made again, from the state in _progress.json. A part
// that is listed was synced before. To replace an output that is complete, a
// _progress.json without parts is written first, and then _SUCCESS and the old parts
// are removed: a _SUCCESS is ignored if there is a _progress.json that lists other
// parts.
//
// The temporary file of _SUCCESS stays open and locked from the beginning to the end: a
// second job over the same folder finds it locked.
//
// The folder may be the URL of a store, too. Each object is written whole, in the same order, but
// nothing is locked.

// PartsOptions are the options for writing an output in parts.
type PartsOptions struct {
	Options
	Batches int64              // number of batches of each part except the last; at least 1
	Columns []dtype.TensorSpec // expected columns, as far as known; see [File.Expect]
}

// Parts is an output in parts: a folder of complete files, with a file _SUCCESS when
// the output is complete. It is not safe for concurrent use.
type Parts struct {
	folder  partsFolder
	o       PartsOptions
	created bool  // this process made the folder
	marker  *File // _SUCCESS, not written yet
	part    *File // nil between parts
	batches int64 // number of batches in part
	now     progress
	before  *progress // progress of an earlier process; nil: none
	success *Success  // _SUCCESS of an earlier process; nil: none
}

// OpenParts locks the folder of an output in parts, which it makes if necessary, and
// reads the progress of an earlier process. The path's extension chooses the format of
// the parts. The caller calls Begin next, and closes the Parts in any case.
func OpenParts(path string, o *PartsOptions) (*Parts, error) {
	if _, err := FormatOf(path); err != nil {
		return nil, err
	}
	p := &Parts{folder: partsFolder(path), o: *o}
	p.o.Overwrite, p.o.Note = true, once(o.Note) // a part never replaces a file of another job
	if err := p.makeFolder(path); err != nil {
		return nil, err
	}
	p.marker = &File{path: p.folder.file(successName), overwrite: true, enc: raw{}}
	err := p.marker.open(&Options{Overwrite: true})
	if err == nil {
		p.before, p.success, err = p.folder.read()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// makeFolder makes the folder. It refuses one that is an input, and a file.
func (p *Parts) makeFolder(path string) error {
	for _, in := range p.o.Inputs {
		if within(path, in) {
			return refused(path, "the output must not be, or be inside, the input %s", millrace.Quote(in))
		}
	}
	if remote.IsURL(path) {
		return nil // stores have no folders
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return refused(path, "is a file, and an output in parts is a folder; name another one, or remove it")
	case err == nil:
		return nil
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		return openError(path, err)
	}
	p.created = true
	return syncFolder(path)
}

// Job returns the job with which an earlier process began the output, nil if there was
// none.
func (p *Parts) Job() Job {
	switch {
	case p.before != nil:
		return p.before.Job
	case p.success != nil:
		return p.success.Job
	}
	return nil
}

// Begin begins the output of a job, or continues it. It returns the state passed with
// the last batch of the last complete part, nil if there is none, and whether the
// output is already complete. An output of another job is an error of class
// millrace.ErrCheckpoint that lists the differences. With overwrite Begin replaces such
// an output, and also a complete one.
func (p *Parts) Begin(job Job, overwrite bool) (state []byte, complete bool, err error) {
	switch {
	case p.success != nil && !overwrite:
		if err := p.success.Job.refuseChanges(string(p.folder), job); err != nil {
			return nil, false, err
		}
		p.now.Parts = p.success.Parts
		return nil, true, p.folder.remove(progressName)
	case p.before != nil && (p.success == nil) && len(changes.Between(p.before.Job, job)) == 0:
		p.now = *p.before
		return p.resume()
	case p.before != nil && !overwrite:
		return nil, false, p.before.Job.refuseChanges(string(p.folder), job)
	case p.before == nil && p.success == nil:
		if err := p.folder.refuseForeign(); err != nil {
			return nil, false, err
		}
	}
	p.now.Job = job
	if err := p.folder.writeProgress(&p.now); err != nil {
		return nil, false, err
	}
	return nil, false, p.folder.sweep(p.now.Parts, temporary(p.marker.path))
}

// resume continues the output of an earlier process.
func (p *Parts) resume() (state []byte, complete bool, err error) {
	if err := p.folder.checkParts(p.now.Parts); err != nil {
		return nil, false, err
	}
	if err := p.folder.sweep(p.now.Parts, temporary(p.marker.path)); err != nil {
		return nil, false, err
	}
	if p.now.Ended != nil { // only _SUCCESS is missing
		return nil, true, p.finish()
	}
	return p.now.State, false, nil
}

// Write adds the rows of one batch. state is the position in the data after the batch.
// It is only needed and kept when the batch ends a part: after every
// PartsOptions.Batches batches of the output.
func (p *Parts) Write(batch []Column, state []byte) error {
	if p.part == nil {
		if err := p.beginPart(); err != nil {
			return err
		}
	}
	if err := p.part.Write(batch); err != nil {
		return err
	}
	if p.batches++; p.batches < p.o.Batches {
		return nil
	}
	if state == nil {
		return millrace.Errorf(millrace.ErrInternal, "a part of the output ends without a state to go on from")
	}
	if err := p.endPart(state); err != nil {
		return err
	}
	return p.folder.writeProgress(&p.now)
}

// beginPart begins the next part.
func (p *Parts) beginPart() error {
	part, err := Create(p.partPath(), &p.o.Options)
	if err != nil {
		return err
	}
	part.sink.digest = sha256.New()
	part.Expect(p.o.Columns)
	p.part, p.batches = part, 0
	return nil
}

// endPart completes the part that is being written.
func (p *Parts) endPart(state []byte) error {
	if err := p.part.Commit(); err != nil {
		return err
	}
	p.now.Parts = append(p.now.Parts, Part{
		Name: path.Base(p.part.path), Rows: p.part.Rows(), Batches: p.batches, Bytes: p.part.Bytes(), SHA256: fmt.Sprintf("%x", p.part.sink.digest.Sum(nil)),
	})
	p.part, p.now.State = nil, state
	return nil
}

// Commit ends the last part and writes _SUCCESS. counts describe the data in it.
func (p *Parts) Commit(counts Counts) error {
	if p.part == nil && len(p.now.Parts) == 0 { // without batches, a part without rows records the columns
		if err := p.beginPart(); err != nil {
			return err
		}
	}
	if p.part != nil {
		if err := p.endPart(p.now.State); err != nil {
			return err
		}
	}
	p.now.Ended = &counts
	if err := p.folder.writeProgress(&p.now); err != nil {
		return err
	}
	return p.finish()
}

// finish writes _SUCCESS.
func (p *Parts) finish() error {
	text, err := p.now.success()
	if err != nil {
		return err
	}
	if _, err := p.marker.sink.Write(text); err != nil {
		return err
	}
	if err := p.marker.Commit(); err != nil {
		return err
	}
	return p.folder.remove(progressName)
}

// Close removes the incomplete part. Complete parts stay, so that a later process can
// continue after them. Calls after the first do nothing.
func (p *Parts) Close() error {
	var first error
	if p.part != nil {
		first = p.part.Close()
		p.part = nil
	}
	if p.marker != nil && (p.marker.file != nil || p.marker.object != nil) {
		if err := p.marker.Close(); first == nil {
			first = err
		}
	}
	if p.created {
		os.Remove(string(p.folder)) // fails, as intended, unless the folder is empty
	}
	return first
}

// Rows returns the number of rows of the whole parts and of the one being written.
func (p *Parts) Rows() (n int64) {
	for _, part := range p.now.Parts {
		n += part.Rows
	}
	if p.part != nil {
		n += p.part.Rows()
	}
	return n
}

// Bytes returns the size of the whole parts.
func (p *Parts) Bytes() (n int64) {
	for _, part := range p.now.Parts {
		n += part.Bytes
	}
	return n
}

// Whole returns the number of whole parts.
func (p *Parts) Whole() int { return len(p.now.Parts) }

// partPath returns the path of the next part.
func (p *Parts) partPath() string {
	return p.folder.file(fmt.Sprintf("part-%05d%s", len(p.now.Parts), filepath.Ext(string(p.folder))))
}

// once passes each remark on only once, although every part makes it.
func once(note func(string)) func(string) {
	if note == nil {
		return nil
	}
	said := map[string]bool{}
	return func(text string) {
		if !said[text] {
			said[text] = true
			note(text)
		}
	}
}
