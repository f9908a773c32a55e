package main

import (
	"strings"
	"testing"
)

// rounded returns a round in which Millrace is f times as good as the targets require.
func rounded(f float64) round {
	var r round
	r.Read.RecordsPerS, r.Predict.RecordsPerS = 100_000*f, 120_000*f
	r.PerRecord.RecordsPerS, r.Vectorised.RecordsPerS = 20_000, 100_000
	r.Loop.RecordsPerS, r.Regrouped.RecordsPerS = 100_000, 100_000
	r.First.FirstBatchS, r.Start.FirstBatchS = 0.15/f, 2.5
	r.Predict.FirstBatchS, r.StartPredict.FirstBatchS = 0.6, 5
	r.First.PeakRSSBytes, r.Start.PeakRSSBytes = int64(325e6/f), 500e6
	r.Predict.PeakRSSBytes, r.StartPredict.PeakRSSBytes = 400e6, 500e6
	r.Compressed = compressedRound{Ours: figures{RecordsPerS: 2e6 * f}, Python: pythonRate{RecordsPerS: 1e6}, Inflate: 2e6 / inflateTarget}
	r.Records = recorded(f)
	r.Convert = converted(f)
	r.Sequences = sequenced(f)
	r.Live = liveRound{Ours: latency{26e-6 / f}, Bare: latency{20e-6}, Python: latency{200e-6}}
	r.Seq = seqRound{Ours: seqRates{40e3 * f, 40e3 * f, 40e3 * f}, Python: seqRates{10e3, 10e3, 10e3}}
	r.Queues.Ours = map[string]float64{"one": queueTarget * 1e3 * f, "several": queueTarget * 2e3 * f, "up_to": 6e3}
	r.Queues.Python = map[string]float64{"one": 1e3, "several": 2e3, "up_to": 5e3}
	r.Queues.Providers = map[string]float64{"staged_model": providerTarget * f, "fed_model": 1, "staged": 0.5, "fed": 1}
	r.Training = trained(f)
	r.Keras = map[string]kerasRate{}
	for _, name := range largeModels {
		r.Keras[name] = kerasRate{StepsPerS: largeTarget * 100 * f, Keras: 100, Memory: 1e6 / f, KerasMemory: 1e6}
	}
	for _, name := range kerasModels {
		r.Keras[name] = kerasRate{Worst: kerasLossApart / f, StepsPerS: kerasTarget * 100 * f, Keras: 100}
	}
	r.Serving = servedRound(f)
	r.PerRecord.Way, r.Vectorised.Way, r.Loop.Way = "a", "b", "c"
	return r
}

// converted returns a round of writing in which Millrace is f times as good as the
// targets require.
func converted(f float64) convertRound {
	r := convertRound{Structs: 1e6 * f, Tables: map[string]tableRound{}}
	r.StructsPython.RecordsPerS = 1e6 / writeTarget
	r.StructsBare = bareRate{Memory: 1e6 / writeBareTarget, File: 1e6 / writeBareTarget}
	for _, kind := range tableKinds {
		r.Tables[kind] = tableRound{Rows: 100, Seconds: 1 / f, Python: pythonTable{Rows: 100, Seconds: convertTarget}}
	}
	return r
}

// recorded returns a round of records in which Millrace is f times as good as the
// targets require.
func recorded(f float64) recordRound {
	r := recordRound{Kinds: map[string]*kindRound{}, Exact: figures{RecordsPerS: 500 * f}, Order: figures{RecordsPerS: 1000}}
	for _, k := range recordKinds("", "") {
		r.Kinds[k.key()] = &kindRound{Ours: figures{RecordsPerS: 1e6 * f}, Python: pythonRate{RecordsPerS: 1e6 / k.python}, Limit: 1e6 / k.limit}
	}
	r.JPEG, r.JPEGPython.RecordsPerS, r.JPEGAlone = 1100*f, 1000, 1200 // so that 0.9 misses both
	r.Buffered.RecordsPerS, r.BufferedPython.RecordsPerS = 1e6*f, 1e6/bufferedTarget
	r.Opening.FirstBatchS, r.State, r.StatePython = openTarget/f, stateTarget/f, 5e6
	return r
}

func TestReport(t *testing.T) {
	tests := []struct {
		name   string
		rounds []round
		met    bool
		below  int // rows
	}{
		{"just reached", []round{rounded(1)}, true, 0},
		{"missed", []round{rounded(0.9)}, false, 82},
		{"median of three", []round{rounded(0.1), rounded(1.1), rounded(1.2)}, true, 0},
		{"median of two", []round{rounded(1.4), rounded(0.8)}, true, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			met := report(&out, test.rounds, recordRows(recordKinds("", "")))
			if below := strings.Count(out.String(), "below target"); met != test.met || below != test.below {
				t.Errorf("report: met %v, %d rows below target, want %v, %d\n%s", met, below, test.met, test.below, out.String())
			}
			if n := strings.Count(out.String(), "PASS"); n != 84-test.below {
				t.Errorf("%d rows PASS, want %d", n, 84-test.below)
			}
		})
	}
}
