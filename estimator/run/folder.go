package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"

	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/estimator/spec"
	"millrace/internal/base/anyfile"
	"millrace/internal/base/regularfile"
	"millrace/remote"
)

// Names in RUN_DIR.
const (
	configName      = "run.json"
	checkpointsName = "checkpoints"
	eventsName      = "events"
	logName         = "log.ndjson"
	finishedName    = "finished.json"
	exportName      = "export"
	reportName      = "report.html"
	quarantineName  = "quarantine.ndjson"
	workersName     = "workers"
)

// Folder is a RUN_DIR: a folder, or the URL of a store.
type Folder string

// path returns the path of a file of the folder.
func (f Folder) path(name string) string { return remote.Join(string(f), name) }

// inStore reports whether the folder is a URL.
func (f Folder) inStore() bool { return remote.IsURL(string(f)) }

// Config returns the path of run.json.
func (f Folder) Config() string { return f.path(configName) }

// Checkpoints returns the folder of the checkpoints.
func (f Folder) Checkpoints() string { return f.path(checkpointsName) }

// Log returns the path of the log.
func (f Folder) Log() string { return f.path(logName) }

// Report returns the path of the report.
func (f Folder) Report() string { return f.path(reportName) }

// Quarantine returns the path of the list of skipped bad records.
func (f Folder) Quarantine() string { return f.path(quarantineName) }

// Worker returns the folder with the log of another process than the one of rank 0.
func (f Folder) Worker(rank int) Folder {
	return Folder(f.path(path.Join(workersName, strconv.Itoa(rank))))
}

// Export returns the folder of the exported model.
func (f Folder) Export() string { return f.path(exportName) }

// Record is what run.json holds.
type Record struct {
	Config   *spec.Config      `json:"config"`   // config with the defaults filled in
	Path     string            `json:"path"`     // absolute path of the run config
	Model    string            `json:"model"`    // the model's folder, absolute
	Seed     int64             `json:"seed"`     // seed of the training data
	Job      map[string]string `json:"job"`      // digests; see checkpoint.Info
	Settings map[string]string `json:"settings"` // versions and modes
}

// ConfigText returns the text of run.json; nil if there is none.
func (f Folder) ConfigText() ([]byte, error) { return f.read(configName) }

// Record reads run.json; nil if there is none.
func (f Folder) Record() (*Record, error) {
	name := f.Config()
	text, err := f.read(configName)
	if text == nil || err != nil {
		return nil, err
	}
	var r struct {
		Record
		Config json.RawMessage `json:"config"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, folderError(name, "damaged: %v; if nothing else is lost, remove the file", err)
	}
	return &r.Record, nil
}

// writeRecord writes run.json.
func (f Folder) writeRecord(r *Record) error {
	return f.write(configName, r)
}

// Finish is what finished.json holds.
type Finish struct {
	Step   int64  `json:"step"`
	Reason string `json:"reason"` // see estimator.TrainResult
}

// Finished returns how the run ended, or nil if it may continue.
func (f Folder) Finished() (*Finish, error) {
	name := f.path(finishedName)
	text, err := f.read(finishedName)
	if text == nil || err != nil {
		return nil, err
	}
	end := &Finish{}
	if err := json.Unmarshal(text, end); err != nil {
		return nil, folderError(name, "damaged: %v", err)
	}
	return end, nil
}

// make makes the folder. In a store there are none.
func (f Folder) make() error {
	if f.inStore() {
		return nil
	}
	if err := os.MkdirAll(string(f), 0o777); err != nil {
		return folderError(string(f), "make the folder: %w", reason(err))
	}
	return nil
}

// reopen marks the run as unfinished.
func (f Folder) reopen() error {
	err := anyfile.Remove(f.path(finishedName))
	if err == nil || f.inStore() {
		return err
	}
	return folderError(string(f), "remove %s: %w", finishedName, reason(err))
}

// write writes a JSON file of the folder, whole or not at all.
func (f Folder) write(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "write %s: %w", name, err)
	}
	return checkpoint.WriteFile(f.path(name), append(text, '\n'))
}

// read reads a small file of the folder; nil if there is none.
func (f Folder) read(name string) (text []byte, err error) {
	text, err = anyfile.ReadFile(f.path(name), regularfile.TextBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, readError(f.path(name), err)
}

// readError adds the path to an error of the disk. Errors of stores have it.
func readError(name string, err error) error {
	if err == nil || remote.IsURL(name) {
		return err
	}
	return folderError(name, "read: %w", reason(err))
}

// folderError is an error about a file of the folder.
func folderError(file, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrIO, format, args...)
	e.File = file
	return e
}

// reason returns the cause of a path error; the message names the path already.
func reason(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return fmt.Errorf("%w", err)
}
