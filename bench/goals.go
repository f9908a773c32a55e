package main

import (
	"context"
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

// overloadKind is the model of the overloaded server. It takes 0.3 ms a row: three times the rate of a smaller
// model is more than the client's processor can send, and more than the server's can refuse next to the answers.
const overloadKind = "heavy"

// goalClients are the numbers of clients.
var goalClients = []int{1, 16, 128}

// goalRound is one measurement of the goals for one model.
type goalRound struct {
	Ours   map[int]served `json:"millrace"` // the key is the number of clients
	Theirs map[int]served `json:"fastapi_batched"`

	OursWithin   served `json:"millrace_within"`
	TheirsWithin served `json:"fastapi_batched_within"`

	ProcessorS float64 `json:"server_processor_s"` // one row a request, one client
	Best       served  `json:"best"`               // pinned
	Half       served  `json:"half_load"`          // pinned
	Good       float64 `json:"goodput_requests_per_s"`
	RefusalS   float64 `json:"refusal_p99_s"`
	Late       int64   `json:"late"` // requests without an answer at the end of the overload
}

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
		r.Goals[overloadKind] = &goalRound{}
		if err := s.overload(ctx, r.Goals[overloadKind], filepath.Join(s.models, overloadKind), o.overload); err != nil {
			return r, fmt.Errorf("overload of the model %s: %w", overloadKind, err)
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
