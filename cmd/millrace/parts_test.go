package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/internal/tool/output"
	"millrace/loaders/quarantine"
	"millrace/tfrecord/example"
)

// numbered is a dataset of numbered records for the model linear, two of them bad. Its
// loader shuffles them, with another seed in each process.
func numbered(t *testing.T, records int) *fixture.Dataset {
	d := fixture.New(t)
	d.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "x", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float"},
	}
	d.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}, {"from_name": "x", "to_name": "x"}}
	d.Args["shuffle"], d.Args["num_shuffle_buffer_elements"], d.Args["num_filenames_shuffle_buffer"], d.Args["num_mix_files"] = true, 8, 2, 2
	d.Args["num_parallel_reads"], d.Args["target_batch_size"] = 2, 4
	d.Args["bad_records"] = fixture.Object{"skip": 2}
	for file := range 2 {
		var list [][]byte
		for id := file; id < records; id += 2 {
			x := float32(id)
			list = append(list, example.Marshal([]example.Named{{Name: "id", Feature: fixture.Ints(int64(id))}, {Name: "x", Feature: fixture.Floats(x, x, x)}}))
		}
		name := strconv.Itoa(file) + ".tfrecords"
		d.WriteRecords(t, name, list...)
		data, err := os.ReadFile(d.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		d.Write(t, name, corrupt.Flip(data, 8*len(data)/len(list)*3+8*20)) // a bit of the data of the fourth record
	}
	d.Save(t)
	return d
}

// A prediction that is killed several times resumes after its complete parts: in the
// end each record has one row, or one line in the ledger.
func TestPredictGoesOnAfterKills(t *testing.T) {
	testruntime.Need(t)
	needStrace(t)
	program, err := exec.LookPath("millrace")
	if err != nil {
		t.Fatal(err)
	}
	const records = 24
	d, out := numbered(t, records), filepath.Join(t.TempDir(), "out.ndjson")
	progress := filepath.Join(out, "._progress.json.millrace-part")
	kills, said := 0, []byte(nil)
	for ; ; kills++ {
		// A process is killed when one of its threads begins to list a second part.
		cmd := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", filepath.Join(t.TempDir(), "log"), "-P", progress,
			"-e", "trace=?openat", "-e", "inject=?openat:signal=KILL:when=2", program,
			"predict", d.Config(), "--model", "../../testdata/models/linear", "--keep", "id", "--out", out, "--part-batches", "1")
		if said, err = cmd.CombinedOutput(); err == nil {
			break
		}
		if kills > records || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	if kills < 2 || !bytes.Contains(said, []byte("going on behind ")) {
		t.Errorf("%d kills, and then\n%s", kills, said)
	}
	text, err := os.ReadFile(filepath.Join(out, "_SUCCESS"))
	if err != nil {
		t.Fatal(err)
	}
	var success output.Success
	if err := json.Unmarshal(text, &success); err != nil {
		t.Fatal(err)
	}
	if want := (output.Counts{Records: records, Epochs: 1, LeftOut: 2}); success.Counts != want || success.Rows != records-2 {
		t.Errorf("_SUCCESS has %+v, %d rows", success.Counts, success.Rows)
	}
	if entries, err := quarantine.Read(out + ".quarantine.ndjson"); err != nil || len(entries) != 2 {
		t.Errorf("the ledger has %v, %v", entries, err)
	}
	if ids := idsOf(t, out, &success); len(ids) != records-2 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != records-2 {
		t.Errorf("the rows are of the records %v", ids)
	}
}

// idsOf returns the values of "id" of all rows of an output.
func idsOf(t *testing.T, out string, success *output.Success) (ids []int64) {
	for _, part := range success.Parts {
		data, err := os.ReadFile(filepath.Join(out, part.Name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var row struct{ ID int64 }
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, row.ID)
		}
	}
	return ids
}
