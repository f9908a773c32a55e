package main

import (
	"path/filepath"
	"testing"

	"millrace/estimator"
	"millrace/estimator/run"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord"
)

// A training that ends with its data knows its last step. The step becomes smaller as
// soon as bad records are found, and stays the same when the training is resumed after
// an interruption.
func TestTrainExpectsSteps(t *testing.T) {
	testruntime.Need(t)
	d := fixture.Points(t, 2, fixture.Object{"bad_records": fixture.Object{"skip": 20}, "epochs": 2})
	var records [][]byte
	err := tfrecord.Find(d.Path("a.tfrecords"), nil, func(r tfrecord.Record) error {
		record := append([]byte(nil), r.Data...)
		if r.Ordinal < 9 {
			record = corrupt.Flip(record, 0)
		}
		records = append(records, record)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.WriteRecords(t, "a.tfrecords", records...)
	config, dir := runConfig(t, d, nil), filepath.Join(t.TempDir(), "run")
	for _, stop := range []int64{3, 0} { // an epoch has 10 steps of 8 points if no point is bad
		r, problems, err := run.Open(config, dir, nil)
		if err != nil {
			t.Fatal(problems, err)
		}
		var first, last int64
		options := &run.TrainOptions{Steps: stop, Hooks: estimator.Hooks{
			Restored:  func(int64) error { first = r.ExpectedSteps(); return nil },
			AfterStep: func(*estimator.Step) error { last = r.ExpectedSteps(); return nil },
		}}
		summary, err := r.Train(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		if first < 8 || first > 10 || last != 8 || stop == 0 && summary.Step != last {
			t.Errorf("expected %d steps, then %d; the training ended after step %d", first, last, summary.Step)
		}
	}
}
