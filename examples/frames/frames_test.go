package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The README's claim holds: training with fed batches and with batches from queues
// gives exactly the same loss, and the model learns.
func TestRun(t *testing.T) {
	testruntime.Need(t)
	results, err := run(t.Context(), "data", &settings{filepath.Join(t.TempDir(), "run"), 30, io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	fed, queues := results["fed"], results["queues"]
	if fed.loss != queues.loss || !(fed.loss < 2.5) {
		t.Errorf("the losses are %v fed and %v from queues; want one below 2.5", fed.loss, queues.loss)
	}
	for _, name := range []string{"train", "dev"} {
		// The most frequent class is a fifth of the frames.
		if fed.accuracy[name] != queues.accuracy[name] || !(fed.accuracy[name] > 0.3) {
			t.Errorf("%s: accuracy %v fed and %v from queues; want one above 0.3", name, fed.accuracy[name], queues.accuracy[name])
		}
	}
}

// Each frame has the phoneme at its middle, 12.5 ms after its start.
func TestLabel(t *testing.T) {
	alignment, err := readAlignment(filepath.Join("data", "0930.phone.json"))
	if err != nil {
		t.Fatal(err)
	}
	// The recording has silence until 0.21 s, HH until 0.30 s, then IY.
	classes, err := label(alignment, 31)
	if err != nil {
		t.Fatal(err)
	}
	for frame, want := range map[int]string{0: "SIL", 19: "SIL", 20: "HH", 28: "HH", 29: "IY"} {
		if got := phones[classes[frame]]; got != want {
			t.Errorf("frame %d is %s, want %s", frame, got, want)
		}
	}
	if _, err := label([]segment{{Text: "QQ"}}, 1); err == nil {
		t.Error("an unknown phoneme is accepted")
	}
}

// A tone is loudest in the band that has its frequency.
func TestMelMatrix(t *testing.T) {
	matrix := melMatrix()
	loudest := func(hz float64) (band int) {
		for i, w := range matrix[int(hz*2*(bins-1)/sampleRate)] {
			if w > matrix[int(hz*2*(bins-1)/sampleRate)][band] {
				band = i
			}
		}
		return band
	}
	// The middles of bands 0, 10 and 39 are about 64, 690 and 7,190 Hz.
	for hz, want := range map[float64]int{62.5: 0, 687.5: 10, 7187.5: 39} {
		if got := loudest(hz); got != want {
			t.Errorf("%v Hz is in band %d, want %d", hz, got, want)
		}
	}
}
