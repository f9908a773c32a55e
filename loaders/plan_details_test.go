package loaders_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/loaders"
	stagecheck "millrace/loaders/stage/check"
	stagewindow "millrace/loaders/stage/window"
	"millrace/tfrecord/example"
)

// planned returns the plan of a dataset for machines without the native library, and
// the scan of its files.
func planned(t *testing.T, d *fixture.Dataset) (*loaders.Plan, *loaders.Scan) {
	t.Helper()
	plan := withoutLibrary(t, d)
	scan, err := plan.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return plan, scan
}

// Up to eight batches are parsed at once, fewer if their tensors take more than 1 MiB,
// and one after a failure.
func TestGroupSizes(t *testing.T) {
	for size, want := range map[int]int64{2: 16, 8192: 16, 32768: 6, 65536: 2, 1 << 20: 2} {
		d := fixture.New(t)
		d.Manifest["features"].([]fixture.Object)[1]["shape"] = []int{size}
		d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
		plan, scan := planned(t, d)
		if got := plan.Engine().GroupSize(scan); got != want || plan.Engine().RetryGroupSize() != 2 {
			t.Errorf("tensors of %d floats: %d records at once, %d again; want %d and 2", size, got, plan.Engine().RetryGroupSize(), want)
		}
	}
	d := fixture.New(t)
	long := example.Marshal([]example.Named{
		{Name: "id", Feature: fixture.Ints(1)}, {Name: "other", Feature: fixture.Floats(make([]float32, 1<<16)...)},
	})
	d.WriteRecords(t, "a.tfrecords", long, long, fixture.Record(1))
	plan, scan := planned(t, d)
	if got := plan.Engine().GroupSize(scan); got != 4 { // 5 of 175 KiB on average are 1 MiB
		t.Errorf("long records: %d at once", got)
	}
	windows := newSequence(t, "continuous_sequence", newSequenceData([][]int{{3, 4}, {2000}}))
	windows.Args["min_window"], windows.Args["max_window"] = 2, 1000
	plan, scan = planned(t, windows)
	// The record of 2000 positions takes 32 KiB. A position with one number takes 1+8
	// bytes, and one with a pair 8 more.
	if got, again := plan.Engine().GroupSize(scan), plan.Engine().RetryGroupSize(); got < 20 || got > 60 || again != 1 {
		t.Errorf("windows: %d records at once, %d again", got, again)
	}
	if got := plan.Engine().WindowsAtOnce(); got != (1<<20)/17/1000 {
		t.Errorf("%d windows at once", got)
	}
	windows.Args["max_window"] = 1 << 20
	if plan, _ = planned(t, windows); plan.Engine().WindowsAtOnce() != 1 {
		t.Errorf("%d large windows at once", plan.Engine().WindowsAtOnce())
	}
}

// The number of examples is known for plain loaders with an end.
func TestRowsOfRuns(t *testing.T) {
	for _, tt := range []struct {
		epochs any
		drop   bool
		want   int64
		known  bool
	}{{1, false, 5, true}, {3, false, 15, true}, {1, true, 4, true}, {3, true, 14, true}, {nil, false, 0, false}} {
		d := fixture.New(t)
		d.Args["epochs"], d.Args["drop_remainder"] = tt.epochs, tt.drop
		d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
		plan, scan := planned(t, d)
		if n, known := plan.Rows(scan); n != tt.want || known != tt.known {
			t.Errorf("%+v: %d, %v", tt, n, known)
		}
	}
}

// Each file that is too short for a window gets a warning. If all files are, the error
// names the longest. Positions are counted in records of any length, compressed or not.
func TestShortFilesAreCounted(t *testing.T) {
	for _, compression := range []string{"", "gzip"} {
		for _, tt := range []struct {
			kind     string
			files    [][]int
			min      int
			short    []string // the warnings
			tooShort string   // "": a file is long enough
		}{
			{"continuous_sequence", [][]int{{3, 0, 4}, {1, 2}, {5, 1, 9}}, 7, []string{"01.tfrecords: warning: 3 positions"}, ""},
			{"continuous_sequence", [][]int{{3, 0, 4}, {1, 2}}, 8, []string{"00.tfrecords: warning: 7 positions", "01.tfrecords: warning: 3 positions"}, "00.tfrecords"},
			{"continuous_sequence", [][]int{{1, 2}, {}, {3, 0, 4}}, 8, []string{"3 positions", "0 positions", "7 positions"}, "02.tfrecords"},
			{"discrete_sequence", [][]int{{3, 0, 4}, {9, 9}}, 3, []string{"01.tfrecords: warning: 2 records, shorter than min_window (3)"}, ""},
			{"discrete_sequence", [][]int{{9, 9}, {1}}, 3, []string{"2 records", "1 records"}, "00.tfrecords"},
		} {
			d := newSequence(t, tt.kind, newSequenceData(nil))
			setCompression(d, compression)
			newSequenceData(tt.files).write(t, d)
			d.Args["min_window"], d.Args["max_window"] = tt.min, tt.min
			d.Args["padding"] = true
			plan, scan := planned(t, d)
			short, err := stagewindow.ShortFiles(t.Context(), plan.Spec, scan)
			if err != nil || len(short) != len(tt.short) {
				t.Fatalf("%v: %v, %v", tt.files, short, err)
			}
			for i, want := range tt.short {
				if !strings.Contains(short[i].Error(), want) {
					t.Errorf("%v: %v, want %s", tt.files, short[i], want)
				}
			}
			err = stagewindow.CheckFileLengths(t.Context(), plan.Spec, scan)
			var e *millrace.Error
			if tt.tooShort == "" && err != nil || tt.tooShort != "" && (!errors.As(err, &e) || e.Class != millrace.ErrSchema || e.File != d.Path(tt.tooShort)) {
				t.Errorf("%v: %v, want %s", tt.files, err, tt.tooShort)
			}
		}
	}
}

// A search for a bad record and a scan of files end with the context. Their results up
// to then are not used.
func TestLookingIsCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := newSequence(t, "continuous_sequence", newSequenceData([][]int{{3, 0, 4}}))
	d.Args["min_window"], d.Args["max_window"] = 5, 5
	plan, scan := planned(t, d)
	_, scanErr := plan.Scan(ctx)
	_, shortErr := stagewindow.ShortFiles(ctx, plan.Spec, scan)
	place := &millrace.Error{File: d.Path("00.tfrecords"), Record: 0}
	for i, err := range []error{scanErr, shortErr, stagecheck.FindBadRecord(ctx, plan.Spec), stagewindow.CheckFileLengths(ctx, plan.Spec, scan), stagecheck.Reread(ctx, plan.Spec, place)} {
		if !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if err := stagecheck.Reread(t.Context(), plan.Spec, place); err != nil {
		t.Errorf("a good record: %v", err)
	}
}

// Records are checked beforehand on request, and the first bad one is the error.
func TestCheckRecordsBeforehand(t *testing.T) {
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Record(0), []byte("\xff"), fixture.Record(2))
	d.Save(t)
	for _, check := range []bool{false, true} {
		plan, problems := loaders.Check(d.Config(), &loaders.CheckOptions{CheckRecords: check})
		if plan == nil {
			t.Fatal(problems)
		}
		scan, err := plan.Scan(t.Context())
		var e *millrace.Error
		if check && (scan != nil || !errors.As(err, &e) || e.Record != 1) || !check && (err != nil || scan == nil) {
			t.Errorf("%v: %v, %v", check, scan, err)
		}
	}
}

// A plan is explained stage by stage, with the unit that is shuffled, and even a
// prefetch of one batch.
func TestExplainedStages(t *testing.T) {
	d := newSequence(t, "continuous_sequence", newSequenceData([][]int{{3, 0, 4}}))
	shuffled(d)
	d.Args["min_window"], d.Args["max_window"], d.Args["num_prefetch"] = 2, 2, 1
	plan, _ := planned(t, d)
	if text := plan.Explain(); !strings.Contains(text, "windows in a buffer of 10") || !strings.Contains(text, "1 batch\n") {
		t.Errorf("got\n%s", text)
	}
	f := fixture.New(t)
	shuffled(f)
	f.Args["num_prefetch"] = 0
	f.Args["padding"] = false
	f.WriteRecords(t, "a.tfrecords", fixture.Record(0))
	plan, _ = planned(t, f)
	if text := plan.Explain(); !strings.Contains(text, "records in a buffer of 10") || strings.Contains(text, "prefetch") {
		t.Errorf("got\n%s", text)
	}
}
