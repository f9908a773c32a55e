package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders/quarantine"
)

// A training leaves bad records out, and so does each of its evaluations of the same
// data. The list in its folder names each record once, and continues when the run is
// resumed.
func TestTrainListsBadRecords(t *testing.T) {
	testruntime.Need(t)
	d := fixture.Points(t, 2, fixture.Object{"bad_records": fixture.Object{"skip": 2}, "epochs": nil})
	files, err := filepath.Glob(d.Path("*.tfrecords"))
	if err != nil || len(files) == 0 {
		t.Fatalf("data files %q: %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], corrupt.Flip(data, 8*14), 0o666); err != nil {
		t.Fatal(err)
	}
	config := runConfig(t, d, func(c fixture.Object) {
		c["evaluate"] = fixture.Object{"loader": "loader.json", "every_steps": 10, "steps": 1, "metrics": []fixture.Object{
			{"name": "accuracy", "type": "accuracy", "labels": "id", "predictions": "scores"},
		}}
	})
	dir := filepath.Join(t.TempDir(), "run")
	ledger := filepath.Join(dir, "quarantine.ndjson")
	_, said := trained(t, 0, "train", config, "--dir", dir, "--steps", "20")
	if !strings.Contains(said, "note: 1 bad record left out; listed in "+ledger+"\n") {
		t.Errorf("train does not say what it has left out:\n%s", said)
	}
	trained(t, 0, "train", config, "--dir", dir, "--steps", "40")
	entries, err := quarantine.Read(ledger)
	if err != nil || len(entries) != 1 || entries[0].File != files[0] || entries[0].Ordinal != 0 {
		t.Errorf("the ledger has %v, %v", entries, err)
	}
}
