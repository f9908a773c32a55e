package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"millrace/internal/tool/load"
)

// Servers. Ours is millrace serve; Python's is FastAPI with uvicorn, one process for
// each processor. All serve the SavedModels that the training benchmark makes. The
// client of all is internal/tool/load, on the same processors.
const (
	servingRequirements = "bench/serving-requirements.txt"
	servingPath         = "/v1/models/m:predict"
	servingConnections  = 256
	servingBodies       = 64 // different requests
	servingFeatures     = 64 // features of a row
	servingDelay        = 2 * time.Millisecond
	servingParameters   = "max_batch_size { value: 64 }\nbatch_timeout_micros { value: 2000 }\n"
	servingTolerance    = 1e-4 // between our answers and Python's
)

// Times of a measurement.
const (
	servingWarm, servingTime, servingLatencyTime = time.Second, 4 * time.Second, 2 * time.Second
	servingLatencyRuns                           = 5 // the median of these runs counts
)

// servingKinds are the models.
var servingKinds = []string{"dense", "convolution"}

// serving measures servers.
type serving struct {
	program string // ours
	python  string
	models  string // folder of the models
	batched string // file with BatchingParameters
	bodies  [][]byte
}

// prepareServing makes the environment of Python's side, and the requests.
func prepareServing(ctx context.Context, t *training) (*serving, error) {
	s := &serving{program: t.sides.millrace.program, models: t.dir, batched: filepath.Join(t.sides.python.dir, "batching.config")}
	var err error
	if s.python, err = environment(ctx, filepath.Join(t.sides.python.dir, "venv-serving"), servingRequirements); err != nil {
		return nil, fmt.Errorf("virtual environment: %w", err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range servingBodies {
		var body struct {
			Instances [1][servingFeatures]float32 `json:"instances"`
		}
		for i := range body.Instances[0] {
			body.Instances[0][i] = random.Float32()
		}
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, text)
	}
	return s, os.WriteFile(s.batched, []byte(servingParameters), 0o666)
}

// measure takes one round of all models.
func (s *serving) measure(ctx context.Context) (map[string]*servingRound, error) {
	rounds := map[string]*servingRound{}
	for _, kind := range servingKinds {
		rounds[kind] = &servingRound{}
		if err := s.round(ctx, rounds[kind], filepath.Join(s.models, kind)); err != nil {
			return nil, fmt.Errorf("servers of the model %s: %w", kind, err)
		}
	}
	return rounds, nil
}

// round takes one round of a model, one server after the other.
func (s *serving) round(ctx context.Context, r *servingRound, model string) error {
	// One thread for each operation, as in Python's processes.
	alone, batched := []string{"--model", "m=" + model, "--tensorflow_intra_op_parallelism", "1"}, []string{"--enable_batching", "--batching_parameters_file", s.batched}
	answers := make([]string, servingBodies) // answers without batching, by request
	err := s.with(func() (*server, error) { return startMillrace(ctx, s.program, alone...) }, func(at *server) (err error) {
		l := saturation
		l.onAnswer = func(i int, body []byte) { answers[i] = string(body) }
		r.Alone, err = s.load(ctx, at, l)
		return err
	})
	if err != nil {
		return err
	}
	same, all := 0, 0
	err = s.with(func() (*server, error) { return startMillrace(ctx, s.program, append(alone, batched...)...) }, func(at *server) (err error) {
		l := saturation
		l.onAnswer = func(i int, body []byte) {
			all++
			if string(body) == answers[i] {
				same++
			}
		}
		if r.Batched, err = s.load(ctx, at, l); err != nil {
			return err
		}
		if r.Half, err = s.usual(ctx, at, r.Batched.RequestsPerS/2); err != nil {
			return err
		}
		if r.BatchedWithin, err = s.within(ctx, at, r.Batched.RequestsPerS); err != nil {
			return err
		}
		r.GRPC, err = s.loadGRPC(ctx, at)
		return err
	})
	if err != nil {
		return err
	}
	r.Same = float64(same) / float64(all)
	for batching, to := range map[bool][2]*served{false: {&r.Python, &r.PythonWithin}, true: {&r.PythonNP, &r.PythonNPWithin}} {
		err := s.with(func() (*server, error) { return startPython(ctx, s.python, model, batching, runtime.NumCPU()) }, func(at *server) error {
			theirs, err := at.predict(ctx, s.bodies[0])
			if err != nil {
				return err
			}
			if err := sameAnswers([]byte(answers[0]), theirs); err != nil {
				return err
			}
			if *to[0], err = s.load(ctx, at, saturation); err != nil {
				return err
			}
			*to[1], err = s.within(ctx, at, to[0].RequestsPerS)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// with starts a server, uses it, and stops it.
func (s *serving) with(start func() (*server, error), use func(*server) error) error {
	at, err := start()
	if err != nil {
		return err
	}
	return errors.Join(use(at), at.stop())
}

// servingLoad is what a server is measured with.
type servingLoad struct {
	rate           float64 // rate of arrivals; 0: each connection sends its next request after an answer
	connections    int     // 0: servingConnections
	warm, duration time.Duration
	onAnswer       func(i int, body []byte)
}

// saturation is a load of as many requests as the server can answer.
var saturation = servingLoad{warm: servingWarm, duration: servingTime}

// load measures a server. Every request must be answered.
func (s *serving) load(ctx context.Context, at *server, l servingLoad) (served, error) {
	o := load.Options{Address: at.address, Connections: cmp.Or(l.connections, servingConnections), Rate: l.rate, Warm: l.warm, Duration: l.duration}
	for _, body := range s.bodies {
		o.Requests = append(o.Requests, load.Post(at.address, servingPath, body))
	}
	if l.onAnswer != nil {
		o.OnAnswer = func(i, _ int, body []byte) { l.onAnswer(i, body) }
	}
	r, err := load.Run(ctx, o)
	if err != nil {
		return served{}, err
	}
	ok := r.OK()
	if len(r.Answers) != 1 || r.Lost+r.Unsent > 0 {
		kinds := map[int]int64{}
		for status, h := range r.Answers {
			kinds[status] = h.N
		}
		return served{}, fmt.Errorf("answers by status: %v; %d requests lost, %d not sent:\n%s", kinds, r.Lost, r.Unsent, at.log.text)
	}
	return served{
		RequestsPerS: r.Throughput(), P50S: ok.Percentile(50).Seconds(), P99S: ok.Percentile(99).Seconds(),
		GeneratorS: r.Processor.Seconds() / float64(max(ok.N, 1)),
	}, ctx.Err()
}

// sameAnswers returns an error if two answers differ by more than rounding.
func sameAnswers(ours, theirs []byte) error {
	var a, b struct{ Predictions [][]float64 }
	if err := errors.Join(json.Unmarshal(ours, &a), json.Unmarshal(theirs, &b)); err != nil {
		return err
	}
	same := len(a.Predictions) == 1 && len(b.Predictions) == 1 && len(a.Predictions[0]) == len(b.Predictions[0])
	for i := 0; same && i < len(a.Predictions[0]); i++ {
		same = math.Abs(a.Predictions[0][i]-b.Predictions[0][i]) <= servingTolerance
	}
	if !same {
		return fmt.Errorf("millrace answers %s, Python %s", ours, theirs)
	}
	return nil
}

// run measures and reports only servers.
func (s *serving) run(ctx context.Context, o settings, out io.Writer) (bool, error) {
	rounds, err := repeat(o.rounds, func() (r round, err error) {
		r.Serving, err = s.measure(ctx)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(o.dir, "results-serving.json"), rounds); err != nil {
		return false, err
	}
	met := table(out, rounds, servingRows())
	explainServing(out, rounds)
	return met, nil
}
