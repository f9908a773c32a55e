package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord/example"
)

// walks returns a saved dataset of sequences for the model
// testdata/models/classifier. A chunk of two frames is a point, and every point
// of a record is in the record's class.
func walks(t *testing.T, records int, args fixture.Object) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	d.Type = "chunked_sequence"
	d.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "xs", "dtype": "float32", "shape": []int{-1}, "deserialize_type": "float"},
	}
	var data [][]byte
	for n := range records {
		var xs []float32
		for k := range 1 + n%4 {
			angle := 2*math.Pi*float64(n%3)/3 + 0.3*math.Sin(float64(5*n+k))
			xs = append(xs, float32(math.Cos(angle)), float32(math.Sin(angle)))
		}
		data = append(data, example.Marshal([]example.Named{
			{Name: "id", Feature: fixture.Ints(int64(n % 3))}, {Name: "xs", Feature: fixture.Floats(xs...)},
		}))
	}
	d.WriteRecords(t, "walks.tfrecords", data...)
	delete(d.Args, "target_batch_size")
	delete(d.Args, "drop_remainder")
	d.Args["chunk_size"], d.Args["batch_size"], d.Args["max_seqs"] = 2, 32, 8
	d.Args["padding"] = []fixture.Object{{"tensor": "xs", "shape": []int{2}}}
	for k, v := range args {
		d.Args[k] = v
	}
	d.Save(t)
	return d
}

// A model trains on chunks, is evaluated on chunks in the order of the data, and
// predicts a row for each chunk.
func TestTrainAndPredictChunks(t *testing.T) {
	testruntime.Need(t)
	d := walks(t, 24, fixture.Object{"epochs": nil, "seq_ordering": "random", "shuffle_chunks": 20, "seed": 3})
	held := walks(t, 12, fixture.Object{"mode": "eval", "chunk_eval": true})
	config := runConfig(t, d, func(c fixture.Object) {
		c["evaluate"] = fixture.Object{"loader": held.Config(), "every_steps": 60, "metrics": []fixture.Object{
			{"name": "accuracy", "type": "accuracy", "labels": "id", "predictions": "scores"},
		}}
	})
	dir := filepath.Join(t.TempDir(), "run")
	out, _ := trained(t, 0, "train", config, "--dir", dir, "--json")
	var summary struct {
		Step    int64              `json:"step"`
		Loss    float64            `json:"loss"`
		Metrics map[string]float64 `json:"metrics"`
	}
	if err := json.Unmarshal([]byte(out), &summary); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if summary.Step != 60 || summary.Loss > 0.7 || summary.Metrics["accuracy"] < 0.9 {
		t.Errorf("summary %s", out)
	}

	rows := filepath.Join(t.TempDir(), "rows.ndjson")
	trained(t, 0, "predict", held.Config(), "--model", "../../testdata/models/classifier", "--keep", "id", "--out", rows)
	text, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.Lines(string(text)) {
		var row struct {
			ID     int64     `json:"id"`
			Scores []float64 `json:"scores"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil || len(row.Scores) != 3 {
			t.Fatalf("%v in %s", err, line)
		}
		got = append(got, fmt.Sprint(row.ID))
	}
	for n := range 12 {
		for range 1 + n%4 {
			want = append(want, fmt.Sprint(n%3))
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("rows of the classes\n got %v\nwant %v", got, want)
	}
}
