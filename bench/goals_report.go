package main

import "fmt"

// clientTargets are how many times the rate of FastAPI with micro-batching the dense model must reach, by the
// number of clients.
var clientTargets = map[int]float64{1: 3, 16: 8, 128: 20}

// Other targets: seconds, and shares of another figure. The table shows seconds in Python's column.
const (
	convolutionTarget = 1.5 // at equal p99
	processorTarget   = 60e-6
	halfLoadTarget    = 3e-3
	goodputTarget     = 0.9
	refusalTarget     = 0.01
)

func count(v float64) string { return fmt.Sprintf("%.0f", v) }

// goalRows are the comparisons.
func goalRows() []row {
	var rows []row
	for _, kind := range servingKinds {
		of := func(figure func(g *goalRound) float64) func(r round) float64 {
			return func(r round) float64 { return figure(r.Goals[kind]) }
		}
		goal := func(v float64) func(round) float64 { return func(round) float64 { return v } }
		for _, n := range goalClients {
			t := target{}
			if kind == "dense" {
				t.atLeast = clientTargets[n]
			}
			rows = append(rows, row{fmt.Sprintf("%s, %d clients, against FastAPI with batching", kind, n),
				of(func(g *goalRound) float64 { return g.Ours[n].RequestsPerS }),
				of(func(g *goalRound) float64 { return g.Theirs[n].RequestsPerS }), requestRate, t},
				row{"p99 there", of(func(g *goalRound) float64 { return g.Ours[n].P99S }),
					of(func(g *goalRound) float64 { return g.Theirs[n].P99S }), milliseconds, target{}},
				row{"processor time of the server there", of(func(g *goalRound) float64 { return g.Ours[n].ServerS }),
					of(func(g *goalRound) float64 { return g.Theirs[n].ServerS }), microseconds, target{}})
		}
		within := target{}
		if kind == "convolution" {
			within.atLeast = convolutionTarget
		}
		rows = append(rows,
			row{fmt.Sprintf("%s, p99 within %v", kind, servingLimit), of(func(g *goalRound) float64 { return g.OursWithin.RequestsPerS }),
				of(func(g *goalRound) float64 { return g.TheirsWithin.RequestsPerS }), requestRate, within})
		single := []row{
			{kind + ", 1 client: processor time of a request of one row", of(func(g *goalRound) float64 { return g.Ours[1].ServerS }), goal(processorTarget), microseconds, target{atMost: 1}},
			{kind + ", pinned: the same", of(func(g *goalRound) float64 { return g.ProcessorS }), goal(processorTarget), microseconds, target{}},
			{kind + ", pinned: p99 at half load", of(func(g *goalRound) float64 { return g.Half.P99S }), goal(halfLoadTarget), milliseconds, target{atMost: 1}},
		}
		if kind != "dense" {
			for i := range single {
				single[i].target = target{}
			}
		}
		rows = append(rows, single...)
	}
	of := func(figure func(g *goalRound) float64) func(r round) float64 {
		return func(r round) float64 { return figure(r.Goals[overloadKind]) }
	}
	return append(rows,
		row{fmt.Sprintf("%s, pinned: answers within %v at three times the load, against the best rate", overloadKind, goalLimit), of(func(g *goalRound) float64 { return g.Good }),
			of(func(g *goalRound) float64 { return g.Best.RequestsPerS }), requestRate, target{atLeast: goodputTarget}},
		row{overloadKind + ", pinned: p99 of a refusal", of(func(g *goalRound) float64 { return g.RefusalS }), func(round) float64 { return refusalTarget }, milliseconds, target{atMost: 1}},
		row{overloadKind + ", pinned: requests that got no answer there", of(func(g *goalRound) float64 { return float64(g.Late) }), func(round) float64 { return 1 }, count, target{}})
}
