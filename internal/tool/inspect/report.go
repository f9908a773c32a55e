package inspect

import (
	"fmt"

	"millrace/tfrecord"
)

// Report describes the contents of a dataset.
type Report struct {
	Path        string     `json:"path"`
	HasManifest bool       `json:"manifest"`          // the folder has one
	Pattern     []string   `json:"pattern,omitempty"` // "pattern" for a loader config; nil: not needed, or unknown
	Sample      int64      `json:"sample,omitempty"`
	Files       []*File    `json:"files"`
	Records     int64      `json:"records"`
	AtLeast     bool       `json:"at_least,omitempty"` // Records only counts the records that were read
	Bytes       int64      `json:"bytes"`
	Parsed      int64      `json:"parsed"`   // the number of records that were parsed
	Sequence    bool       `json:"sequence"` // some record has feature lists: they are SequenceExamples
	Features    []*Feature `json:"features"` // context features, then feature lists, by name
	Notes       []string   `json:"notes"`    // remarks for the user
	Problems    []error    `json:"-"`        // damaged files and records
	Messages    []string   `json:"problems"` // Problems as text
}

// File is one data file.
type File struct {
	Path        string               `json:"path"` // relative to the folder
	Bytes       int64                `json:"bytes"`
	Compression tfrecord.Compression `json:"compression"`
	Records     int64                `json:"records"`
	AtLeast     bool                 `json:"at_least,omitempty"` // Records only counts the records that were read
	DataBytes   int64                `json:"data_bytes"`         // total size of the records, uncompressed
	MaxRecord   int64                `json:"max_record_bytes"`
	Damaged     bool                 `json:"damaged,omitempty"`
}

// note adds a note to the report.
func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}
