package output

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"millrace"
	"millrace/internal/base/anyfile"
	"millrace/internal/base/changes"
	"millrace/internal/base/regularfile"
	"millrace/remote"
)

// Names in the folder of an output in parts.
const (
	successName  = "_SUCCESS"
	progressName = "_progress.json"
)

// Part is a file of an output in parts.
type Part struct {
	Name    string `json:"name"`
	Rows    int64  `json:"rows"`
	Batches int64  `json:"batches"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// Counts describes the data of an output.
type Counts struct {
	Records int64 `json:"records"`  // number of records of the data, in one epoch; -1: unknown
	Epochs  int64 `json:"epochs"`   // passes over the data
	LeftOut int64 `json:"left_out"` // number of bad records that were skipped, each counted once

	Filtered int64 `json:"filtered,omitempty"` // examples that filters did not keep, in all epochs
}

// Success is the content of _SUCCESS.
type Success struct {
	Rows    int64 `json:"rows"`
	Batches int64 `json:"batches"`
	Bytes   int64 `json:"bytes"` // size of all parts
	Counts
	Job   Job    `json:"job"`
	Parts []Part `json:"parts"`
}

// progress is the content of _progress.json.
type progress struct {
	Job   Job    `json:"job"`
	Parts []Part `json:"parts"`
	State []byte `json:"state,omitempty"` // position in the data after the last part, unless the data has ended

	Ended *Counts `json:"ended,omitempty"` // all parts are complete; nil: more may follow
}

// partsFolder is the folder of an output in parts.
type partsFolder string

// file returns the path of a file of the folder.
func (f partsFolder) file(name string) string { return remote.Join(string(f), name) }

// read reads the progress and the success of an earlier process, nil for missing files.
func (f partsFolder) read() (before *progress, success *Success, err error) {
	began, ended := &progress{}, &Success{}
	found, err := f.readJSON(progressName, began)
	if err != nil {
		return nil, nil, err
	}
	if found {
		before = began
	}
	if found, err = f.readJSON(successName, ended); err != nil {
		return nil, nil, err
	}
	// The success of a replaced output is ignored.
	if found && (before == nil || slices.Equal(before.Parts, ended.Parts)) {
		success = ended
	}
	return before, success, nil
}

// readJSON reads a file of the folder and reports whether it exists.
func (f partsFolder) readJSON(name string, v any) (found bool, err error) {
	path := f.file(name)
	text, err := anyfile.ReadFile(path, regularfile.TextBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, placed(path, "read", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, differs(path, "is damaged: %v; remove the folder, or name another one", err)
	}
	return true, nil
}

// differs returns an error about a file that is not what an earlier process wrote.
func differs(path, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrCheckpoint, format, args...)
	e.File = path
	return e
}

// writeProgress writes the progress of the output.
func (f partsFolder) writeProgress(now *progress) error {
	text, err := json.Marshal(now)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "write %s: %w", progressName, err)
	}
	return WriteFile(f.file(progressName), text, true)
}

// remove removes a file of the folder, if it exists.
func (f partsFolder) remove(name string) error {
	path := f.file(name)
	return placed(path, "remove", anyfile.Remove(path))
}

// placed adds the place to an error about a file of the folder. Errors of a store have theirs.
func placed(path, doing string, err error) error {
	if err == nil || remote.IsURL(path) {
		return err
	}
	return ioError(path, doing, -1, 0, err)
}

// success returns the content of _SUCCESS for an output that has ended.
func (p *progress) success() ([]byte, error) {
	s := Success{Counts: *p.Ended, Job: p.Job, Parts: p.Parts}
	for _, part := range s.Parts {
		s.Rows, s.Batches, s.Bytes = s.Rows+part.Rows, s.Batches+part.Batches, s.Bytes+part.Bytes
	}
	text, err := json.MarshalIndent(&s, "", "  ")
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "write %s: %w", successName, err)
	}
	return append(text, '\n'), nil
}

// checkParts returns an error if a part is missing or has changed.
func (f partsFolder) checkParts(parts []Part) error {
	for _, part := range parts {
		path := f.file(part.Name)
		size, err := anyfile.Size(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return differs(path, "the part is gone, and %s lists it; begin again with --overwrite", progressName)
		case err != nil:
			return placed(path, "stat", err)
		case size != part.Bytes:
			return differs(path, "the part has %d bytes, and was written with %d; begin again with --overwrite", size, part.Bytes)
		}
	}
	return nil
}

// names returns the names of the files in the folder.
func (f partsFolder) names() ([]string, error) {
	names, err := anyfile.Names(string(f))
	return names, placed(string(f), "read folder", err)
}

// ours matches the names of parts and of the temporary files in the folder.
var ours = regexp.MustCompile(`^(part-\d{5,}\.\w+|\..*\.millrace-part)$`)

// sweep removes the _SUCCESS of a replaced output, then the obsolete parts and their
// temporary files except the lock.
func (f partsFolder) sweep(keep []Part, lock string) error {
	if err := f.remove(successName); err != nil {
		return err
	}
	if err := syncFolder(f.file(successName)); err != nil {
		return err
	}
	names, err := f.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		kept := slices.ContainsFunc(keep, func(part Part) bool { return part.Name == name })
		if !ours.MatchString(name) || kept || name == filepath.Base(lock) {
			continue
		}
		if err := f.remove(name); err != nil {
			return err
		}
	}
	return nil
}

// refuseForeign refuses a folder with files that do not belong to an output in parts.
func (f partsFolder) refuseForeign() error {
	names, err := f.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".millrace-part") {
			continue
		}
		return refused(string(f), "the folder holds %s, and neither %s nor %s, so no earlier prediction was written there; name another folder, or empty this one",
			millrace.Quote(name), successName, progressName)
	}
	return nil
}

// Job identifies the inputs of an output: digests and settings by name.
type Job map[string]string

// refuseChanges returns an error if a job differs from the one of the output in path.
func (j Job) refuseChanges(path string, now Job) error {
	var list []string
	for _, change := range changes.Between(j, now) {
		list = append(list, change.Text())
	}
	if len(list) == 0 {
		return nil
	}
	e := millrace.Errorf(millrace.ErrCheckpoint, "the output was begun by another prediction: %s; name another folder, or replace it (--overwrite)",
		strings.Join(list, ", "))
	e.File = path
	return e
}
