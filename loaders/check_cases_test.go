package loaders_test

import (
	"slices"
	"strings"
	"testing"

	"millrace/diag"
	"millrace/internal/test/cases"
	"millrace/loaders"
	"millrace/loaders/spec"
)

// dataErrors are the error cases that are found only by reading the data: each passes
// [loaders.Check].
var dataErrors = []string{
	"chunk-err-missing-list", "chunk-err-no-chunks", "chunk-err-padding-long", "chunk-err-truncated",
	"chunk-err-unaligned-one", "chunk-err-unaligned-record",
	"err-checked-cast-float", "err-checked-cast-int",
	"err-cont-lengths", "err-cont-no-records", "err-cont-no-window",
	"err-crc-data", "err-crc-last-file", "err-crc-length",
	"err-disc-no-records", "err-disc-no-window",
	"err-example-as-sequence",
	"err-gzip-as-plain", "err-gzip-as-zlib", "err-gzip-truncated",
	"err-infinite-empty", "err-not-tfrecord",
	"err-pad-too-small",
	"err-plain-as-gzip", "err-plain-as-zlib",
	"err-ragged-batch", "err-ragged-windows",
	"err-record-1-values", "err-record-3-values",
	"err-record-bytes-for-int-list", "err-record-float-for-int", "err-record-float-for-raw", "err-record-int-for-float",
	"err-record-list-values",
	"err-record-no-context", "err-record-no-feature", "err-record-no-feature-multi-load", "err-record-no-list",
	"err-record-not-proto",
	"err-record-raw-bytes", "err-record-raw-count", "err-record-raw-count-few", "err-record-raw-size",
	"err-sequence-as-example", "err-sequence-as-example-said",
	"err-slice-out-var",
	"err-truncated", "err-truncated-crc",
	"err-zlib-as-gzip", "err-zlib-as-plain",
}

// checkCase checks a case's config, with its model if it has one.
func checkCase(t *testing.T, dir string) (*loaders.Plan, diag.List) {
	t.Helper()
	o := &loaders.CheckOptions{}
	if path := cases.Model(dir); path != "" {
		names, problems := spec.ReadModelNames(path)
		if names == nil {
			return nil, problems
		}
		o.Model = names
	}
	return loaders.Check(dir+"/loader.json", o)
}

// TestCheckCases checks the configs of all cases: Check must find and name the mistakes
// of a wrong config, and return a plan for a right one.
func TestCheckCases(t *testing.T) {
	for _, name := range cases.All(t) {
		t.Run(name, func(t *testing.T) {
			dir := cases.Prepare(t, name)
			c := cases.Read(t, name)
			plan, problems := checkCase(t, dir)
			if (plan == nil) != problems.HasErrors() {
				t.Fatalf("plan %v with the problems\n%v", plan, problems)
			}
			if c.Mode != "error" || slices.Contains(dataErrors, name) {
				if plan == nil {
					t.Errorf("the config is right, but:\n%v", problems)
				}
				return
			}
			if plan != nil {
				t.Fatal("the config is wrong, but there is a plan")
			}
			if err := cases.Compare(c, nil, []byte(problems.Error()), 2); err != nil {
				t.Error(err)
			}
			for _, d := range problems {
				if !strings.HasPrefix(d.File, dir) || d.Class == nil {
					t.Errorf("no place or no class: %+v", d)
				}
			}
		})
	}
}
