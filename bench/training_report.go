package main

import (
	"fmt"
	"slices"
)

func stepRate(v float64) string { return fmt.Sprintf("%.0f steps/s", v) }

// Targets of training, as ratios of steps/s.
const (
	loopTarget       = 1.3
	fitTarget        = 1.5
	checkpointTarget = 0.98
)

// trainRows are the comparisons of training.
func trainRows(rounds []round) []row {
	var targeted, others []row
	for _, k := range trainKinds {
		of := func(rate func(t *trainRound) trainRate) func(r round) float64 {
			return func(r round) float64 { return rate(r.Training[k.name]).StepsPerS }
		}
		ours := of(func(t *trainRound) trainRate { return t.Ours })
		loop := of(func(t *trainRound) trainRate { return t.Loop })
		fit := of(func(t *trainRound) trainRate { return t.Fit })
		several := of(func(t *trainRound) trainRate { return t.FitSeveral })
		arithmetic := of(func(t *trainRound) trainRate { return t.Arithmetic })
		against := func(what string, theirs func(r round) float64, t float64) row {
			name := "train " + k.name + ", against " + what
			bound := over(rounds, func(r round) float64 { return arithmetic(r) / theirs(r) })
			if t = reachable(t, bound); t == 1 {
				name += " (the model's arithmetic is nearly all the time)"
			}
			return row{name, ours, theirs, stepRate, target{atLeast: t}}
		}
		targeted = append(targeted, against("Python's loop", loop, loopTarget), against("Keras's fit", fit, fitTarget))
		others = append(others,
			row{"train " + k.name + ", against fit with 50 steps a call", ours, several, stepRate, target{}},
			row{"train " + k.name + ", against the arithmetic alone", ours, arithmetic, stepRate, target{}})
		if k.checkpoints {
			with := of(func(t *trainRound) trainRate { return t.Checkpoints })
			targeted = append(targeted, row{"train " + k.name + ", a checkpoint every 500 steps, against none", with, ours, stepRate, target{atLeast: checkpointTarget}})
		}
	}
	return slices.Concat(targeted, others)
}

// reachable returns a target for a ratio that cannot be above a bound: the given
// target, or 1 if even training without any input misses it.
func reachable(target, bound float64) float64 {
	if bound < target {
		return 1
	}
	return target
}
