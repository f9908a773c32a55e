// Package report makes one HTML page of training runs, to be looked at in a
// browser. The page holds all it needs: it opens without a network.
//
// A run is read from its RUN_DIR alone, so a report can be made while the run is
// going on, or on another machine.
package report
