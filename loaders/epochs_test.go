package loaders_test

import (
	"errors"
	"math"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
)

// TestEpochsOfNothing reads 2^31 - 1 epochs of files without records, or too short for
// a window, by every engine and in every order. Reading epoch by epoch would take
// hours.
func TestEpochsOfNothing(t *testing.T) {
	testruntime.Need(t)
	for name, order := range map[string]func(*fixture.Dataset){"in order": func(*fixture.Dataset) {}, "shuffled": shuffled} {
		for _, kind := range []string{"independent", "discrete_sequence"} {
			d := fixture.New(t)
			d.Type = kind
			order(d)
			d.Args["epochs"] = math.MaxInt32
			d.WriteRecords(t, "a.tfrecords")
			d.WriteRecords(t, "b.tfrecords")
			if kind != "independent" {
				d.WriteRecords(t, "c.tfrecords", fixture.Record(0))
				windows(d)
			}
			plan := withoutLibrary(t, d)
			_, general := readPlan(t, plan)
			plan, _ = loaders.Check(d.Config(), nil)
			_, own := readPlan(t, plan)
			for _, err := range []error{general, own} {
				if kind == "independent" && err != nil || kind != "independent" && !errors.Is(err, millrace.ErrSchema) {
					t.Errorf("%s, %s: got %v", kind, name, err)
				}
			}
		}
	}
}

// Records of remote files are not counted before they are read.
func TestEpochsOfNothingRemote(t *testing.T) {
	testruntime.Need(t)
	writeRAM(t, "ram://nothing/a", nil)
	for _, kind := range []string{"independent", "discrete_sequence"} {
		d := remoteDataset(t, "ram://nothing/a", "ram://nothing/a")
		d.Type = kind
		shuffled(d)
		d.Args["epochs"] = math.MaxInt32
		if kind != "independent" {
			windows(d)
		}
		if ids, err := readRemote(t, d); err != nil || len(ids) > 0 {
			t.Errorf("%s: got %d examples, %v", kind, len(ids), err)
		}
	}
}

// windows cuts windows of two records.
func windows(d *fixture.Dataset) {
	window{min: 2, max: 2, tail: "drop"}.set(d)
	d.Args["primary_features"] = []fixture.Object{{"from_name": "xs", "to_name": "xs"}}
}
