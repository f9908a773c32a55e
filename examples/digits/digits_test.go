package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"millrace/internal/test/committed"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/loaders"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The accuracy is the one that the demo's README claims.
func TestAccuracy(t *testing.T) {
	testruntime.Need(t)
	score, err := evaluate(t.Context(), "predict.json", "model")
	if err != nil {
		t.Fatal(err)
	}
	if right, all := score.totals(); all != 360 || score.accuracy() < 0.97 {
		t.Errorf("%d of %d digits read right, want at least 97 %% of 360", right, all)
	}
}

func TestRun(t *testing.T) {
	testruntime.Need(t)
	var out strings.Builder
	if err := run(t.Context(), ".", &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "held-back digits read right: accuracy 0.9") {
		t.Errorf("run printed\n%s", out.String())
	}
}

// Training reads every batch of twenty epochs, and every digit equally often.
func TestTrainConfig(t *testing.T) {
	testruntime.Need(t)
	loader, err := loaders.Open("train.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	batches := 0
	for batch, err := range loader.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got := batch.Tensor("image").Shape(); fmt.Sprint(got) != fmt.Sprint([]int64{32, 8, 8}) {
			t.Fatalf("batch %d: image has shape %v", batches, got)
		}
		batches++
	}
	if want := 20 * 1437 / 32; batches != want {
		t.Errorf("%d batches, want %d", batches, want)
	}
}

// Both forms of storing a picture agree. Both parts together hold all 1,797 digits, and
// no digit is in both.
func TestRecords(t *testing.T) {
	ids := map[string]bool{}
	for _, path := range dataFiles(t) {
		for r, err := range tfrecord.Records(path, nil) {
			if err != nil {
				t.Fatal(err)
			}
			id, err := checkRecord(r.Data)
			if err != nil {
				t.Fatalf("%s: record %d: %v", path, r.Ordinal, err)
			}
			if ids[id] {
				t.Errorf("%s: record %d: %s is there twice", path, r.Ordinal, id)
			}
			ids[id] = true
		}
	}
	if len(ids) != 1797 {
		t.Errorf("%d digits, want 1797", len(ids))
	}
}

// checkRecord checks a digit against the manifest and returns its id.
func checkRecord(data []byte) (id string, err error) {
	features, err := example.Parse(data)
	if err != nil {
		return "", err
	}
	image, err := features.Get("image")
	if err != nil {
		return "", err
	}
	pixels, err := features.Get("pixels")
	if err != nil {
		return "", err
	}
	label, err := features.Get("label")
	if err != nil {
		return "", err
	}
	name, err := features.Get("id")
	if err != nil {
		return "", err
	}
	if image.Len() != 64 || pixels.Len() != 1 || len(pixels.Bytes[0]) != 64 || label.Len() != 1 || name.Len() != 1 {
		return "", fmt.Errorf("lengths %d, %d, %d, %d", image.Len(), pixels.Len(), label.Len(), name.Len())
	}
	for i, v := range image.Ints {
		if v < 0 || v > 16 || int64(pixels.Bytes[0][i]) != v {
			return "", fmt.Errorf("pixel %d: %d and %d", i, v, pixels.Bytes[0][i])
		}
	}
	if l := label.Ints[0]; l < 0 || l > 9 {
		return "", fmt.Errorf("label %d", l)
	}
	return string(name.Bytes[0]), nil
}

// The committed files are those that make.py makes.
func TestChecksum(t *testing.T) {
	committed.Checksum(t, dataFiles(t), "be3670a6dbdfc96b35897328b90b64833acea8d9a6ae03d76011e24b27ad5773")
}

func dataFiles(t *testing.T) []string { return committed.Files(t, 6) }

func TestConfusion(t *testing.T) {
	var c confusion
	for _, pair := range [][2]int64{{3, 3}, {3, 3}, {3, 8}, {0, 0}} {
		if err := c.add(pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := c.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    0    1   .   .   .   .   .   .   .   .   .\n",
		"    3    .   .   .   2   .   .   .   .   1   .\n",
		"3 of 4 held-back digits read right: accuracy 0.7500\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, pair := range [][2]int64{{-1, 0}, {10, 0}, {0, -1}, {0, 10}} {
		if err := c.add(pair[0], pair[1]); err == nil {
			t.Errorf("add(%d, %d): no error", pair[0], pair[1])
		}
	}
}
