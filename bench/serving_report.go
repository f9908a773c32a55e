package main

import (
	"fmt"
	"io"
	"runtime"
)

// Targets of serving.
const (
	servingTarget   = 8     // as a ratio of requests/s, to Python
	batchingTarget  = 3     // as a ratio of requests/s, to ours without batching
	halfLoadSlack   = 1.3   // p99 over p50 plus the batching delay, at half load
	halfLoadLatency = 0.005 // p99 there, in seconds
)

func requestRate(v float64) string  { return fmt.Sprintf("%.0f requests/s", v) }
func milliseconds(v float64) string { return fmt.Sprintf("%.2f ms", v*1e3) }

// servingRows are the comparisons of servers.
func servingRows() []row {
	var targeted, others []row
	for _, kind := range servingKinds {
		of := func(figure func(r *servingRound) float64) func(r round) float64 {
			return func(r round) float64 { return figure(r.Serving[kind]) }
		}
		rate := of(func(r *servingRound) float64 { return r.Batched.RequestsPerS })
		p99 := of(func(r *servingRound) float64 { return r.Batched.P99S })
		name := "serve " + kind + ", "
		within := of(func(r *servingRound) float64 { return r.BatchedWithin.RequestsPerS })
		limited := fmt.Sprintf("%sp99 within %v, against FastAPI", name, servingLimit)
		targeted = append(targeted,
			row{limited, within, of(func(r *servingRound) float64 { return r.PythonWithin.RequestsPerS }), requestRate, target{atLeast: servingTarget}},
			row{limited + " with NumPy batching", within, of(func(r *servingRound) float64 { return r.PythonNPWithin.RequestsPerS }), requestRate, target{atLeast: servingTarget}},
			row{name + "batching, against none", rate,
				of(func(r *servingRound) float64 { return r.Alone.RequestsPerS }), requestRate, target{atLeast: batchingTarget}},
		)
		others = append(others,
			row{name + "256 connections, against FastAPI", rate,
				of(func(r *servingRound) float64 { return r.Python.RequestsPerS }), requestRate, target{}},
			row{name + "p99 there", p99, of(func(r *servingRound) float64 { return r.Python.P99S }), milliseconds, target{atMost: 1}},
			row{name + "256 connections, against FastAPI with NumPy batching", rate,
				of(func(r *servingRound) float64 { return r.PythonNP.RequestsPerS }), requestRate, target{}},
			row{name + "p99 there", p99, of(func(r *servingRound) float64 { return r.PythonNP.P99S }), milliseconds, target{atMost: 1}},
			row{name + "by gRPC, against FastAPI with NumPy batching",
				of(func(r *servingRound) float64 { return r.GRPC.RequestsPerS }),
				of(func(r *servingRound) float64 { return r.PythonNP.RequestsPerS }), requestRate, target{}})
		half := row{name + "p99 at half that load, against 1.3 times p50 plus the batching delay",
			of(func(r *servingRound) float64 { return r.Half.P99S }),
			of(func(r *servingRound) float64 { return halfLoadSlack*r.Half.P50S + servingDelay.Seconds() }),
			milliseconds, target{atMost: 1, limit: halfLoadLatency}}
		if kind == "dense" {
			targeted = append(targeted, half)
		} else {
			half.target = target{}
			others = append(others, half)
		}
	}
	return append(targeted, others...)
}

// explainServing prints what the table of servers leaves out.
func explainServing(out io.Writer, rounds []round) {
	for _, kind := range servingKinds {
		of := func(figure func(r *servingRound) float64) float64 {
			return over(rounds, func(r round) float64 { return figure(r.Serving[kind]) })
		}
		cost := of(func(r *servingRound) float64 { return r.Batched.GeneratorS })
		share := of(func(r *servingRound) float64 { return r.Batched.GeneratorS * r.Batched.RequestsPerS })
		fmt.Fprintf(out, "%s: the load generator took %.1f us of processor time for an answer, %.0f%% of %d processors. %.1f%% of the batched answers equal the unbatched ones to the bit. The client of gRPC took %.1f us.\n",
			kind, cost*1e6, 100*share/float64(runtime.NumCPU()), runtime.NumCPU(), 100*of(func(r *servingRound) float64 { return r.Same }),
			1e6*of(func(r *servingRound) float64 { return r.GRPC.GeneratorS }))
	}
}
