// Package observe reports the events of loaders, runs and models to a program:
// files scanned, batches delivered, time spent waiting, bad records.
//
//	listener := &observe.Listener{
//		Stall: func(e observe.Stall) { log.Printf("waited %v for step %d", e.Duration, e.Step) },
//	}
//	loader, err := loaders.Open("loader.json", &loaders.Options{Observe: listener})
//
// The package imports no other package of Millrace; the packages that report
// events import it. [Log] is a listener that writes to a slog.Logger; package
// millrace/observe/prometheus counts events for Prometheus; [Join] combines
// several listeners into one.
package observe

import "time"

// Listener receives events. It is a struct of functions, like
// net/http/httptrace.ClientTrace, and not an interface: a program sets the
// functions of the events that it wants, and a new event breaks no program. A
// nil listener or a nil function only costs a comparison.
//
// The goroutine in which an event happens calls the function and waits for it.
// So the functions should be short, and must not call the loader or model that
// reports the event. They may be called concurrently. Do not change a listener
// that is in use.
type Listener struct {
	Opened    func(Opened)
	Scanned   func(Scanned)
	Batch     func(Batch)
	Stall     func(Stall)
	BadRecord func(BadRecord)
	LeftOut   func(LeftOut)
	Filtered  func(Filtered)
	Retry     func(Retry)
	Closed    func(Closed)
}

// Opened reports that a loader or a model was opened. It is the first event of
// its source.
type Opened struct {
	Source   string        // path of the loader config, or the model's folder
	Files    int           // data files of a loader
	Duration time.Duration // time to check the config or to load the model; 0 if the config was checked before
}

// Scanned reports that a loader has scanned all its data files.
type Scanned struct {
	Source   string
	Files    int
	Records  int64 // -1 if the records of some files were not counted
	Bytes    int64 // total size of the local files
	Duration time.Duration
}

// Batch reports that a step produced a batch. The loop may receive the batch later.
type Batch struct {
	Source    string
	Signature string        // signature of the model; "" for a loader alone
	Step      int64         // number of the step in its run, from 1
	Rows      int64         // examples
	Duration  time.Duration // duration of the session run
	Elapsed   time.Duration // since the run began
}

// Stall reports that a loop had to wait for the next batch. A loop always waits
// for the first step of a run.
type Stall struct {
	Source    string
	Signature string
	Step      int64
	Duration  time.Duration
}

// BadRecord reports that a record could not be read. It comes once for each
// error, before the loop or the failed call gets the error.
type BadRecord struct {
	Source  string
	File    string
	Record  int64  // ordinal in File, from 0
	Offset  int64  // byte offset, -1 if not known
	Feature string // "" if the record as a whole is bad
	Err     error
}

// LeftOut reports that a bad record was left out of a run, which continues. It comes
// once for each record of a run, however often the run meets it. Calls do not overlap.
type LeftOut struct {
	Source     string
	File       string
	Record     int64  // ordinal in File, from 0
	Offset     int64  // byte offset of its header in the decompressed file
	Length     int64  // size of its data in bytes; for the rest of a file the number of bytes from Offset on
	Feature    string // "" if the record as a whole is bad
	Class      string // "schema", "corrupt data" or "truncated"
	Reason     string
	RestOfFile bool // the rest of the file is left out, too
}

// Filtered reports, at the end of the data of a run, how many examples filters did not keep, in all
// epochs, with those before the state that the run began from.
type Filtered struct {
	Source   string
	Examples int64
}

// Retry reports that a step failed and is repeated with fewer records parsed at
// once, so that the good batches before a bad record are delivered.
type Retry struct {
	Source    string
	Signature string
	Step      int64
	Err       error
}

// Closed reports that a loader or a model was closed.
type Closed struct {
	Source   string
	Duration time.Duration // since it was opened
	Err      error         // the result of closing
}
