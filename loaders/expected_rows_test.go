package loaders_test

import (
	"fmt"
	"testing"

	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/observe"
)

// A run gives the expected number of rows, whatever part of the records it reads, and
// where bad records are left out.
func TestExpectedRows(t *testing.T) {
	testruntime.Need(t)
	bad := fixture.Object{"bad_records": fixture.Object{"skip": 9}}
	with := func(args, more fixture.Object) fixture.Object {
		all := fixture.Object{}
		for _, from := range []fixture.Object{args, more} {
			for key, value := range from {
				all[key] = value
			}
		}
		return all
	}
	for name, args := range map[string]fixture.Object{
		"in order": {"epochs": 2}, "dropped": {"epochs": 3, "drop_remainder": true},
		"shard": {"epochs": 2, "shard": fixture.Object{"count": 3, "index": 1}}, "range": {"range": fixture.Object{"start": 5, "end": 30}},
		"bad": with(bad, fixture.Object{"epochs": 2}), "bad, buffers": with(bad, buffers(nil)), "bad, exact": exact(2, bad),
		"bad, part": exact(1, with(bad, fixture.Object{"shard": fixture.Object{"count": 2, "index": 1}})),
	} {
		f := orderData(t, args)
		if args["bad_records"] != nil {
			records := fixture.Records(19, 20)
			f.WriteRecords(t, "3.tfrecords", corrupt.Flip(records[0], 0))
			records = fixture.Records(20, 51)
			records[7], records[8] = corrupt.Flip(records[7], 0), corrupt.Flip(records[8], 0)
			f.WriteRecords(t, "4.tfrecords", records...)
		}
		checkExpectedRows(t, name, f, args["bad_records"] == nil)
	}
	for name, args := range map[string]fixture.Object{
		"apart": {"epochs": 2}, "gaps": {"stride": 6, "tail": "drop"}, "padded, overlapping": {"tail": "pad", "stride": 3},
		"buffers": buffers(fixture.Object{"stride": 3, "drop_remainder": true}), "exact": exact(2, nil),
	} {
		checkExpectedRows(t, "windows, "+name, wavesData(t, args), true)
	}
	l := openSequence(t, wavesData(t, fixture.Object{"max_window": 5}))
	if rows, known := l.Plan().ExpectedRows(l.Scan(), 0); known {
		t.Errorf("%d windows of sizes that are drawn at random are expected", rows)
	}
}

// checkExpectedRows runs a loader, and compares the number of rows with the expected
// one. If no record is bad, the expected number is exact from the start.
func checkExpectedRows(t *testing.T, name string, f *fixture.Dataset, exact bool) {
	t.Helper()
	l := openSequence(t, f)
	rows, left := int64(0), map[string]bool{}
	listen := &observe.Listener{LeftOut: func(e observe.LeftOut) { left[fmt.Sprint(e.File, e.Record)] = true }}
	for b, err := range l.Run(t.Context(), &loaders.RunOptions{Observe: listen}) {
		if err != nil {
			t.Fatal(name, err)
		}
		rows += b.Rows()
	}
	if got, known := l.Plan().ExpectedRows(l.Scan(), int64(len(left))); got != rows || !known || rows == 0 || exact != (len(left) == 0) {
		t.Errorf("%s: %d rows, %d bad records, expected %d, %v", name, rows, len(left), got, known)
	}
}
