// Package report makes one HTML page of training runs for a browser. The page is
// self-contained: it opens without a network.
//
// A run is only read from its RUN_DIR, so a report can be made during the run, or on
// another machine.
package report
