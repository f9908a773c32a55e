// Package observe tells a program what its loaders, runs and models do: files
// scanned, batches delivered, time spent waiting, bad records.
//
//	listener := &observe.Listener{
//		Stall: func(e observe.Stall) { log.Printf("waited %v for step %d", e.Duration, e.Step) },
//	}
//	loader, err := loaders.Open("loader.json", &loaders.Options{Observe: listener})
//
// It is a leaf: the packages that tell import it, and it imports none of them.
// [Log] is a listener that writes to a slog.Logger; package
// millrace/observe/prometheus counts for Prometheus; [Join] makes one listener
// of several.
package observe

import "time"

// Listener is told what happens. It is a struct of functions, like
// net/http/httptrace.ClientTrace, and not an interface: a program names the
// events that it wants, and a new event breaks no program. A nil listener and a
// nil function cost a comparison and nothing more.
//
// The functions are called by the goroutine in which something happens, and
// hold it up while they run: they should be short, and must not call the
// loader or model that they hear from. They may be called concurrently. A
// listener must not be changed once it is in use.
type Listener struct {
	Opened    func(Opened)
	Scanned   func(Scanned)
	Batch     func(Batch)
	Stall     func(Stall)
	BadRecord func(BadRecord)
	Retry     func(Retry)
	Closed    func(Closed)
}

// Opened says that a loader or a model was opened. It comes before everything
// else that is told of it.
type Opened struct {
	Source   string        // path of the loader config, or the model's folder
	Files    int           // data files of a loader
	Duration time.Duration // of checking the config, or of loading the model; 0 if it was checked before
}

// Scanned says that a loader has looked at all its data files.
type Scanned struct {
	Source   string
	Files    int
	Records  int64 // -1 if not all files could be counted
	Bytes    int64 // of the local files
	Duration time.Duration
}

// Batch says that a step gave a batch. The consumer may get it later.
type Batch struct {
	Source    string
	Signature string        // of the model; "" for a loader alone
	Step      int64         // of the run, from 1
	Rows      int64         // examples
	Duration  time.Duration // of the session run
	Elapsed   time.Duration // since the run began
}

// Stall says that a loop had to wait because the next batch was not there. The
// first step of a run is always waited for.
type Stall struct {
	Source    string
	Signature string
	Step      int64
	Duration  time.Duration
}

// BadRecord says that a record could not be read. It is told once for an error,
// before the loop or the call that fails gets the error.
type BadRecord struct {
	Source  string
	File    string
	Record  int64  // ordinal in File, from 0
	Offset  int64  // in bytes, -1 if not known
	Feature string // "" if the record as a whole is bad
	Err     error
}

// Retry says that a step failed and is made again, with fewer records parsed at
// once, so that the good batches before a bad record are delivered.
type Retry struct {
	Source    string
	Signature string
	Step      int64
	Err       error
}

// Closed says that a loader or a model was closed.
type Closed struct {
	Source   string
	Duration time.Duration // since it was opened
	Err      error         // of closing
}
