package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"millrace/internal/test/committed"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/loaders"
	"millrace/tfbridge"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The forecast is as good as the demo's README claims, and the windows are those of the
// files.
func TestForecast(t *testing.T) {
	testruntime.Need(t)
	s, err := evaluate(t.Context(), "predict.json", "model")
	if err != nil {
		t.Fatal(err)
	}
	if s.all.months != 2*(360-48) {
		t.Errorf("%d months, want 624", s.all.months)
	}
	if s.gain() < 0.08 {
		t.Errorf("the model's error is %.3f, that of the last month %.3f", s.all.rms(0), s.all.rms(1))
	}
	// Compute the figures of the two forecasts that need no model from the records.
	series := readSeries(t)
	var want misses
	for _, first := range []int32{1949, 1979} {
		for i := 48; i < 360; i++ {
			year := 0.0
			for k := i - 12; k < i; k++ {
				year += series[month(first, k)] / 12
			}
			want.add([len(forecasts)]float64{0, series[month(first, i-1)], year}, series[month(first, i)])
		}
	}
	for i := 1; i < len(forecasts); i++ {
		if got, want := s.all.rms(i), want.rms(i); math.Abs(got-want) > 1e-4 {
			t.Errorf("%s: error %v, want %v", forecasts[i], got, want)
		}
	}
}

func TestRun(t *testing.T) {
	testruntime.Need(t)
	var out strings.Builder
	if err := run(t.Context(), ".", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"last month again", "\n1950s        84 ", "\nall         624 ", "% smaller"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// A window of train.json is a sequence of consecutive months of one file. Its length is
// the one that the window states, and the rest is padded.
func TestTrainConfig(t *testing.T) {
	testruntime.Need(t)
	series := readSeries(t)
	loader, err := loaders.Open("train.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	lengths := map[int64]int{}
	for batch, err := range loader.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		values, err := tfbridge.View[float32](batch.Tensor("sunspots"))
		if err != nil {
			t.Fatal(err)
		}
		months, err := tfbridge.View[int32](batch.Tensor("month"))
		if err != nil {
			t.Fatal(err)
		}
		sizes, err := tfbridge.View[int64](batch.Tensor("length"))
		if err != nil {
			t.Fatal(err)
		}
		for i, size := range sizes {
			lengths[size]++
			if err := checkWindow(series, values[i*96:][:96], months[i*96:][:96], int(size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for size := range lengths {
		if size < 49 || size > 96 {
			t.Errorf("a window of %d months", size)
		}
	}
	if len(lengths) < 40 {
		t.Errorf("%d different lengths of 48", len(lengths))
	}
}

// checkWindow compares a window with the records.
func checkWindow(series map[int32]float64, values []float32, months []int32, size int) error {
	first := months[0] / 100
	span := (first - 1749) / 50
	for k := range values {
		if k >= size {
			if values[k] != -1 || months[k] != 0 {
				return fmt.Errorf("window of %d months: %d: %v in padding", size, months[k], values[k])
			}
			continue
		}
		want := month(first, int(months[0]%100)-1+k)
		if months[k] != want || float32(series[want]) != values[k] || (want/100-1749)/50 != span {
			return fmt.Errorf("window of %d months from %d: %d: %v at %d", size, months[0], months[k], values[k], k)
		}
	}
	return nil
}

// month is YYYYMM of the month k months after January of a year.
func month(year int32, k int) int32 {
	return 100*(year+int32(k/12)) + int32(k%12) + 1
}

// readSeries returns all months' numbers, by YYYYMM.
func readSeries(t *testing.T) map[int32]float64 {
	t.Helper()
	series := map[int32]float64{}
	for _, path := range dataFiles(t) {
		for r, err := range tfrecord.Records(path, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if err := addRecord(series, r.Data); err != nil {
				t.Fatalf("%s: record %d: %v", path, r.Ordinal, err)
			}
		}
	}
	return series
}

// addRecord checks a year against the manifest and adds it.
func addRecord(series map[int32]float64, data []byte) error {
	features, err := example.Parse(data)
	if err != nil {
		return err
	}
	values, err := features.Get("sunspots")
	if err != nil {
		return err
	}
	months, err := features.Get("month")
	if err != nil {
		return err
	}
	if values.Len() != 12 || months.Len() != 12 {
		return fmt.Errorf("lengths %d, %d", values.Len(), months.Len())
	}
	for i, m := range months.Ints {
		if _, again := series[int32(m)]; again {
			return fmt.Errorf("month %d is there twice", m)
		}
		series[int32(m)] = float64(values.Floats[i])
	}
	return nil
}

// Every month of 1749 to 2008 is there.
func TestRecords(t *testing.T) {
	series := readSeries(t)
	for k := range 260 * 12 {
		if v, ok := series[month(1749, k)]; !ok || v < 0 || v > 300 {
			t.Errorf("%d: %v, %v", month(1749, k), v, ok)
		}
	}
	if len(series) != 260*12 {
		t.Errorf("%d months, want %d", len(series), 260*12)
	}
}

// The committed files are those that make.py makes.
func TestChecksum(t *testing.T) {
	committed.Checksum(t, dataFiles(t), "38ee3f247329924a16835b61eb69968ff4f8d727212562fab2950342232957ca")
}

func dataFiles(t *testing.T) []string { return committed.Files(t, 6) }

func TestScore(t *testing.T) {
	history := make([]float32, 48)
	for i := range 12 {
		history[47-i] = 24
	}
	history[47] = 12 // the last 12 have a mean of 23
	var s score
	s.add(195901, history, 10, 13)
	s.add(196001, history, 10, 13)
	var out strings.Builder
	if err := s.print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `root mean squared error
         months  model  last month again  mean of the last 12
1950s         1   3.00              1.00                10.00
1960s         1   3.00              1.00                10.00
all           2   3.00              1.00                10.00

the model's error is 200.0 % larger than that of saying last month's number again
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
