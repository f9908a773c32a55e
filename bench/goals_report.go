package main

import "fmt"

// Targets of the goals.
var clientTargets = map[int]float64{1: 3, 16: 8, 128: 20} // of the dense model, against FastAPI with micro-batching

const (
	convolutionTarget = 1.5   // at equal p99
	processorTarget   = 60e-6 // seconds of a request of one row
	halfLoadTarget    = 3e-3  // p99
	goodputTarget     = 0.9   // of the best rate
	refusalTarget     = 0.01  // p99
	nothing           = 1.0   // what a figure without another beside it is compared with
)

// goalRows are the comparisons.
func goalRows() []row {
	var rows []row
	for _, kind := range servingKinds {
		of := func(figure func(g *goalRound) float64) func(r round) float64 {
			return func(r round) float64 { return figure(r.Goals[kind]) }
		}
		alone := func(r round) float64 { return nothing }
		for _, n := range goalClients {
			t := target{}
			if kind == "dense" {
				t.atLeast = clientTargets[n]
			}
			rows = append(rows, row{fmt.Sprintf("%s, %d clients, against FastAPI with batching", kind, n),
				of(func(g *goalRound) float64 { return g.Ours[n].RequestsPerS }),
				of(func(g *goalRound) float64 { return g.Theirs[n].RequestsPerS }), requestRate, t},
				row{"p99 there", of(func(g *goalRound) float64 { return g.Ours[n].P99S }),
					of(func(g *goalRound) float64 { return g.Theirs[n].P99S }), milliseconds, target{}})
		}
		within := target{}
		if kind == "convolution" {
			within.atLeast = convolutionTarget
		}
		rows = append(rows,
			row{fmt.Sprintf("%s, p99 within %v", kind, servingLimit), of(func(g *goalRound) float64 { return g.OursWithin.RequestsPerS }),
				of(func(g *goalRound) float64 { return g.TheirsWithin.RequestsPerS }), requestRate, within},
			row{kind + ", pinned: goodput at three times the load, against the best rate", of(func(g *goalRound) float64 { return g.Good }),
				of(func(g *goalRound) float64 { return g.Best.RequestsPerS }), requestRate, target{atLeast: goodputTarget}},
			row{kind + ", pinned: p99 of a refusal", of(func(g *goalRound) float64 { return g.RefusalS }), alone, milliseconds, target{limit: refusalTarget}})
		single := []row{
			{kind + ", pinned: processor time of a request of one row", of(func(g *goalRound) float64 { return g.ProcessorS }), alone, microseconds, target{limit: processorTarget}},
			{kind + ", pinned: p99 at half load", of(func(g *goalRound) float64 { return g.Half.P99S }), alone, milliseconds, target{limit: halfLoadTarget}},
		}
		if kind != "dense" {
			for i := range single {
				single[i].target = target{}
			}
		}
		rows = append(rows, single...)
	}
	return rows
}
