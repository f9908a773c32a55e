package main

import (
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"
)

// A chunk of chunks.json is a sequence of consecutive months of one year, with the
// month before and the month after it if they are in the same year. An epoch has the
// four chunks of each of 200 years.
func TestChunksConfig(t *testing.T) {
	testruntime.Need(t)
	series := readSeries(t)
	loader, err := loaders.Open("chunks.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	firsts := map[int32]int{}
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
		sizes, err := tfbridge.View[int32](batch.Tensor("month/size0"))
		if err != nil {
			t.Fatal(err)
		}
		rows := len(sizes)
		wide, long := len(values)/rows, len(months)/rows
		for i, size := range sizes {
			firsts[months[i*long]]++
			checkChunk(t, series, values[i*wide:][:wide], months[i*long:][:long], int(size))
		}
	}
	for first, n := range firsts {
		if first%100%3 != 1 || n != 2 {
			t.Errorf("%d chunks begin at %d in two epochs", n, first)
		}
	}
	if len(firsts) != 4*200 {
		t.Errorf("%d different chunks, want %d", len(firsts), 4*200)
	}
}

// checkChunk compares a chunk with the records.
func checkChunk(t *testing.T, series map[int32]float64, values []float32, months []int32, size int) {
	t.Helper()
	year := months[0] / 100
	begin := int(months[0]%100) - 1
	for k := range values {
		at := begin - 1 + k
		want := float32(-1)
		if k < size+2 && 0 <= at && at < 12 {
			want = float32(series[month(year, at)])
		}
		if values[k] != want {
			t.Errorf("chunk of %d months from %d: value %d is %v, want %v", size, months[0], k, values[k], want)
		}
	}
	for k := range size {
		if months[k] != month(year, begin+k) {
			t.Errorf("chunk of %d months from %d: month %d is %d", size, months[0], k, months[k])
		}
	}
}
