package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
)

// Models of Keras in training mode. Python makes each model once a round, trains it by
// Keras's own step with deterministic operations, and has millrace train train its export on
// the same batches from records. The losses of the first steps have to agree.
const (
	kerasScript = "bench/keras_training.py"
	kerasSteps  = 200
	kerasBatch  = 32
)

// kerasModels are the models of the script that are measured, and largeModels those whose
// speed and memory alone are compared: in 50 steps Keras's own losses of them go apart from
// one bit (docs/keras.md).
var (
	kerasModels = []string{"U-Net", "Transformer", "LSTM", "GRU"}
	largeModels = []string{"ResNet50", "EfficientNetB0"}
)

// largeSteps is the number of steps of large models.
const largeSteps = 60

// Targets of Keras's models: a ratio of steps/s, and how far the losses may be apart.
const (
	kerasTarget    = 1.3
	largeTarget    = 1
	kerasLossApart = 1e-5
)

// measureKeras takes one round, by the names of the models.
func measureKeras(ctx context.Context, s sides) (map[string]kerasRate, error) {
	var got []kerasRate
	for _, group := range []struct {
		models []string
		flags  []string
	}{{kerasModels, []string{"--steps", strconv.Itoa(kerasSteps)}}, {largeModels, []string{"--memory", "--steps", strconv.Itoa(largeSteps)}}} {
		var rates []kerasRate
		args := slices.Concat([]string{kerasScript, "--json", "--batch", strconv.Itoa(kerasBatch)}, group.flags, []string{s.millrace.program}, group.models)
		if err := runJSON(ctx, &rates, s.python.program, args...); err != nil {
			return nil, err
		}
		got = append(got, rates...)
	}
	all := map[string]kerasRate{}
	for _, r := range got {
		if r.Error != "" {
			return nil, fmt.Errorf("train Keras's model %s: %w", r.Model, errors.New(r.Error))
		}
		all[r.Model] = r
	}
	return all, nil
}

// runKeras measures and reports Keras's models alone.
func runKeras(ctx context.Context, s settings, both sides, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		r.Keras, err = measureKeras(ctx, both)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-keras.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, kerasRows()), nil
}

// kerasRows are the comparisons of Keras's models.
func kerasRows() []row {
	var rows []row
	for _, name := range kerasModels {
		rows = append(rows,
			row{"train " + name + " of Keras, against Keras's step",
				func(r round) float64 { return r.Keras[name].StepsPerS },
				func(r round) float64 { return r.Keras[name].Keras }, stepRate, target{atLeast: kerasTarget}},
			row{"train " + name + " of Keras, difference of losses in 50 steps",
				func(r round) float64 { return r.Keras[name].Worst },
				func(r round) float64 { return kerasLossApart }, difference, target{atMost: 1}})
	}
	for _, name := range largeModels {
		rows = append(rows,
			row{"train " + name + " of Keras, against Keras's step",
				func(r round) float64 { return r.Keras[name].StepsPerS },
				func(r round) float64 { return r.Keras[name].Keras }, stepRate, target{atLeast: largeTarget}},
			row{"train " + name + " of Keras, most memory against Keras's",
				func(r round) float64 { return r.Keras[name].Memory },
				func(r round) float64 { return r.Keras[name].KerasMemory }, mebibytes, target{atMost: 1}})
	}
	return rows
}

// mebibytes prints a size.
func mebibytes(v float64) string { return strconv.FormatFloat(v/(1<<20), 'f', 0, 64) + " MiB" }

// difference prints a difference of losses.
func difference(v float64) string { return strconv.FormatFloat(v, 'g', 2, 64) }
