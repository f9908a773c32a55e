package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/estimator/spec"
	"millrace/internal/base/regularfile"
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

// Folder is a RUN_DIR.
type Folder string

// Config returns the path of run.json.
func (f Folder) Config() string { return filepath.Join(string(f), configName) }

// Checkpoints returns the folder of the checkpoints.
func (f Folder) Checkpoints() string { return filepath.Join(string(f), checkpointsName) }

// Log returns the path of the log.
func (f Folder) Log() string { return filepath.Join(string(f), logName) }

// Report returns the path of the report.
func (f Folder) Report() string { return filepath.Join(string(f), reportName) }

// Quarantine returns the path of the list of skipped bad records.
func (f Folder) Quarantine() string { return filepath.Join(string(f), quarantineName) }

// Worker returns the folder with the log of another process than the one of rank 0.
func (f Folder) Worker(rank int) Folder {
	return Folder(filepath.Join(string(f), workersName, strconv.Itoa(rank)))
}

// Export returns the folder of the exported model.
func (f Folder) Export() string { return filepath.Join(string(f), exportName) }

// Record is what run.json holds.
type Record struct {
	Config   *spec.Config      `json:"config"`   // config with the defaults filled in
	Path     string            `json:"path"`     // absolute path of the run config
	Model    string            `json:"model"`    // the model's folder, absolute
	Seed     int64             `json:"seed"`     // seed of the training data
	Job      map[string]string `json:"job"`      // digests; see checkpoint.Info
	Settings map[string]string `json:"settings"` // versions and modes
}

// Record reads run.json; nil if there is none.
func (f Folder) Record() (*Record, error) {
	name := f.Config()
	text, err := regularfile.ReadFile(name, regularfile.TextBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, folderError(name, "read: %w", reason(err))
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
	name := filepath.Join(string(f), finishedName)
	text, err := regularfile.ReadFile(name, regularfile.TextBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, folderError(name, "read: %w", reason(err))
	}
	end := &Finish{}
	if err := json.Unmarshal(text, end); err != nil {
		return nil, folderError(name, "damaged: %v", err)
	}
	return end, nil
}

// reopen marks the run as unfinished.
func (f Folder) reopen() error {
	err := os.Remove(filepath.Join(string(f), finishedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return folderError(string(f), "remove %s: %w", finishedName, reason(err))
	}
	return nil
}

// write writes a JSON file of the folder, whole or not at all.
func (f Folder) write(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "write %s: %w", name, err)
	}
	return checkpoint.WriteFile(filepath.Join(string(f), name), append(text, '\n'))
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
