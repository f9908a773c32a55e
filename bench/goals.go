package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"millrace/internal/tool/load"
)

// Goals of serving, which -only goals measures without the rest: clients that ask again at once, against
// FastAPI with micro-batching on the same two sides of all processors; then, with the server and the client
// on a processor each, the server's processor time of a request, the latency at half load, and what
// is left of the rate at three times the load.
const (
	goalQueueDelay = 50 * time.Millisecond // --max-queue-delay of the overloaded server
	goalLimit      = 2 * goalQueueDelay    // an answer of the overloaded server that takes longer is of no use
	goalTimes      = 3                     // as much load as the best rate
	overloaders    = 4096                  // connections of the overload
	saturators     = 64                    // connections of the best rate
)

// overloadKind is the model of the overloaded server. It takes half a millisecond a row, in batches too: three times
// the rate of a smaller model is more than the server's processor can refuse next to the answers.
const overloadKind = "cnn"

// overloadRows are the numbers of rows of the requests of the overload. Several rows are a model that takes
// as many times longer.
var overloadRows = []int{1, 5}

// overloadName is the name of the figures for requests of some rows.
func overloadName(rows int) string { return fmt.Sprintf("%s, %d rows a request", overloadKind, rows) }

// goalClients are the numbers of clients.
var goalClients = []int{1, 16, 128}

// prepareGoals makes what the servers need, and measures and reports the goals.
func prepareGoals(ctx context.Context, ways sides, o settings, out io.Writer) (bool, error) {
	t, err := prepareTraining(ctx, ways)
	if err != nil {
		return false, err
	}
	if err := t.makeModel(ctx, overloadKind); err != nil {
		return false, err
	}
	s, err := prepareServing(ctx, t)
	if err != nil {
		return false, err
	}
	return s.runGoals(ctx, o, out)
}

// runGoals measures and reports the goals.
func (s *serving) runGoals(ctx context.Context, o settings, out io.Writer) (bool, error) {
	rounds, err := repeat(o.rounds, func() (r round, err error) {
		r.Goals = map[string]*goalRound{}
		for _, kind := range servingKinds {
			g := &goalRound{Ours: map[int]served{}, Theirs: map[int]served{}}
			r.Goals[kind] = g
			if err := s.goals(ctx, g, filepath.Join(s.models, kind)); err != nil {
				return r, fmt.Errorf("goals of the model %s: %w", kind, err)
			}
		}
		for _, rows := range overloadRows {
			g, many := &goalRound{}, *s
			r.Goals[overloadName(rows)] = g
			if many.bodies, err = joined(s.bodies, rows); err != nil {
				return r, err
			}
			if err := many.overload(ctx, g, filepath.Join(s.models, overloadKind), o.overload); err != nil {
				return r, fmt.Errorf("overload of the model %s: %w", overloadKind, err)
			}
		}
		return r, nil
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(o.dir, "results-goals.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, goalRows()), nil
}

// goals takes one round of a model.
func (s *serving) goals(ctx context.Context, g *goalRound, model string) error {
	ours := []string{"--model", "m=" + model, "--enable_batching"}
	sides := []struct {
		start  func() (*server, error)
		to     map[int]served
		within *served
	}{
		{func() (*server, error) { return startMillrace(ctx, s.program, ours...) }, g.Ours, &g.OursWithin},
		{func() (*server, error) { return startPython(ctx, s.python, model, true, runtime.NumCPU()) }, g.Theirs, &g.TheirsWithin},
	}
	var answers [][]byte
	for _, side := range sides {
		err := s.with(side.start, func(at *server) error {
			answer, err := at.predict(ctx, s.bodies[0])
			if err != nil {
				return err
			}
			answers = append(answers, answer)
			for _, n := range goalClients {
				l := saturation
				l.connections = n
				if side.to[n], err = s.timed(ctx, at, l); err != nil {
					return err
				}
			}
			*side.within, err = s.within(ctx, at, side.to[goalClients[len(goalClients)-1]].RequestsPerS)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := sameAnswers(answers[0], answers[1]); err != nil {
		return err
	}
	restore, err := pinClient()
	if err != nil {
		return err
	}
	defer restore()
	return s.with(sides[0].start, func(at *server) error { return s.pinned(ctx, g, at) })
}

// overload measures the best rate of a model, and then three times as much load.
func (s *serving) overload(ctx context.Context, g *goalRound, model string, overload time.Duration) error {
	restore, err := pinClient()
	if err != nil {
		return err
	}
	defer restore()
	args := []string{"--model", "m=" + model, "--enable_batching"}
	err = s.with(func() (*server, error) { return startMillrace(ctx, s.program, args...) }, func(at *server) error { return s.best(ctx, g, at) })
	if err != nil {
		return err
	}
	args = append(args, "--max-queue-delay", goalQueueDelay.String())
	return s.with(func() (*server, error) { return startMillrace(ctx, s.program, args...) }, func(at *server) error { return s.overloaded(ctx, g, at, overload) })
}

// joined returns as many requests, each with the rows of some of them in a row.
func joined(bodies [][]byte, rows int) ([][]byte, error) {
	type body struct {
		Instances []json.RawMessage `json:"instances"`
	}
	var all []body
	for _, text := range bodies {
		var b body
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	var requests [][]byte
	for i := range all {
		var b body
		for n := range rows {
			b.Instances = append(b.Instances, all[(i+n)%len(all)].Instances...)
		}
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		requests = append(requests, text)
	}
	return requests, nil
}

// best measures the best rate.
func (s *serving) best(ctx context.Context, g *goalRound, at *server) (err error) {
	l := saturation
	l.connections = saturators
	g.Best, err = s.load(ctx, at, l)
	return err
}

// pinned measures what needs a server and a client with a processor each.
func (s *serving) pinned(ctx context.Context, g *goalRound, at *server) (err error) {
	if g.ProcessorS, err = s.processor(ctx, at); err != nil {
		return err
	}
	if err := s.best(ctx, g, at); err != nil {
		return err
	}
	g.Half, err = s.usual(ctx, at, g.Best.RequestsPerS/2)
	return err
}

// overloaded measures a server at three times its best rate.
func (s *serving) overloaded(ctx context.Context, g *goalRound, at *server, overload time.Duration) error {
	o := load.Options{Address: at.address, Connections: overloaders, Rate: goalTimes * g.Best.RequestsPerS, Warm: servingWarm, Duration: overload}
	for _, body := range s.bodies {
		o.Requests = append(o.Requests, load.Post(at.address, servingPath, body))
	}
	r, err := load.Run(ctx, o)
	if err != nil {
		return err
	}
	g.Late = r.Lost + r.Unsent
	if good := r.Answers[http.StatusOK]; good != nil {
		g.Good = float64(good.Within(goalLimit)) / r.Seconds
	}
	if refused := r.Answers[http.StatusServiceUnavailable]; refused != nil {
		g.RefusalS = refused.Percentile(99).Seconds()
	}
	return ctx.Err()
}

// processor returns the server's processor time of a request, with one client.
func (s *serving) processor(ctx context.Context, at *server) (float64, error) {
	got, err := s.timed(ctx, at, servingLoad{connections: 1, warm: servingWarm, duration: servingTime})
	return got.ServerS, err
}

// timed measures a server, and its processor time of a request.
func (s *serving) timed(ctx context.Context, at *server, l servingLoad) (served, error) {
	before, err := processorOf(at.process.Process.Pid)
	if err != nil {
		return served{}, err
	}
	got, err := s.load(ctx, at, l)
	if err != nil {
		return served{}, err
	}
	after, err := processorOf(at.process.Process.Pid)
	got.ServerS = (after - before).Seconds() / (got.RequestsPerS * (l.warm + l.duration).Seconds())
	return got, err
}

// processorOf returns the processor time of a process and its children, as Linux counts it in /proc.
func processorOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is %q", pid, text)
	}
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	total := time.Duration(user+system) * (time.Second / 100) // a tick is 10 ms
	lists, err3 := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	err = errors.Join(err, err2, err3)
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has no children
		for _, child := range strings.Fields(string(text)) {
			n, wrong := strconv.Atoi(child)
			took, gone := processorOf(n)
			total, err = total+took, errors.Join(err, wrong, gone)
		}
	}
	return total, err
}

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
	for _, n := range overloadRows {
		of := func(figure func(g *goalRound) float64) func(r round) float64 {
			return func(r round) float64 { return figure(r.Goals[overloadName(n)]) }
		}
		name := overloadName(n)
		rows = append(rows,
			row{fmt.Sprintf("%s, pinned: answers within %v at three times the load, against the best rate", name, goalLimit), of(func(g *goalRound) float64 { return g.Good }),
				of(func(g *goalRound) float64 { return g.Best.RequestsPerS }), requestRate, target{atLeast: goodputTarget}},
			row{name + ", pinned: p99 of a refusal", of(func(g *goalRound) float64 { return g.RefusalS }), func(round) float64 { return refusalTarget }, milliseconds, target{atMost: 1}},
			row{name + ", pinned: requests that got no answer there", of(func(g *goalRound) float64 { return float64(g.Late) }), func(round) float64 { return 1 }, count, target{}})
	}
	return rows
}
