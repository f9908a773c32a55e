package build_test

import (
	"flag"
	"slices"
	"testing"

	"millrace/internal/test/cases"
	"millrace/internal/test/testruntime"
)

// Cases of the format, by the type of their loader. Together they have every kind of
// feature, cast, constant, step, measure, padding, window and order.
var (
	recordCases = []string{
		"rand-006", "rand-011", "rand-014", "rand-019", "seq-empty-lists", "slice-chain", "multi-load-types", "raw-special", "seq-raw-unsigned", "shuffle-pipeline",
	}
	windowCases = []string{"cont-slice", "cont-const", "disc-slice", "disc-random-own", "cont-random-infinite"}
	chunkCases  = []string{"chunk-rand-003", "chunk-rand-007", "chunk-with-sizes", "chunk-context-mask"}
	faultCases  = []string{"err-slice-out-var", "err-checked-cast-int", "err-checked-cast-float", "err-record-no-list", "err-crc-data"}
)

// With TensorFlow's operations instead of Millrace's own, cases give the expected
// results.
func TestRecordCases(t *testing.T) { runCases(t, false, recordCases) }
func TestWindowCases(t *testing.T) { runCases(t, false, windowCases) }
func TestChunkCases(t *testing.T)  { runCases(t, false, chunkCases) }
func TestFaultCases(t *testing.T)  { runCases(t, false, faultCases) }

var everyCase = flag.Bool("every-case", false, "run every case with an index, and not a few of each kind")

// With an index of each file, Millrace's own operations give the expected results of
// cases.
func TestCasesWithIndex(t *testing.T) {
	names := slices.Concat(recordCases, windowCases, chunkCases, faultCases)
	if *everyCase {
		names = cases.All(t)
	}
	runCases(t, true, names)
}

func runCases(t *testing.T, native bool, names []string) {
	t.Helper()
	testruntime.Need(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { runCase(t, name, native) })
	}
}
