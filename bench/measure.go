package main

import (
	"context"
	"fmt"
)

// sides are the two programs to compare.
type sides struct {
	millrace millrace
	python   python
}

// round is one measurement of everything.
type round struct {
	Read         figures     `json:"read"`
	First        figures     `json:"first"` // a single pass, as in Python's start
	Predict      figures     `json:"predict"`
	PerRecord    pythonRate  `json:"python_per_record"`
	Vectorised   pythonRate  `json:"python_vectorised"`
	Regrouped    pythonRate  `json:"python_regrouped"`
	Loop         pythonRate  `json:"python_predict"`
	Start        pythonStart `json:"python_start"`
	StartPredict pythonStart `json:"python_start_predict"`

	Compressed compressedRound `json:"gzip"`
	Records    recordRound     `json:"records"`
	Convert    convertRound    `json:"convert"`

	Sequences sequenceRound `json:"sequences"`
	Live      liveRound     `json:"live"`
	Seq       seqRound      `json:"go_sequences"`
	Queues    queueRound    `json:"queues"`

	Training map[string]*trainRound `json:"training"` // key: the kind of model

	Keras map[string]kerasRate `json:"keras,omitempty"` // rates by model

	Serving map[string]*servingRound `json:"serving,omitempty"` // key: the kind of model

	Cluster *clusterRound `json:"cluster,omitempty"` // only -only cluster fills it

	Goals map[string]*goalRound `json:"goals,omitempty"` // only -only goals fills it, the key is the kind of model

	Speech speechRound `json:"chunks"` // result of -only chunks
}

// measure takes one round, ours and theirs in turn.
func measure(ctx context.Context, s sides) (r round, err error) {
	model := []string{"--model", s.python.model}
	steps := []func() error{
		func() error { r.Read, err = s.millrace.bench(ctx, s.millrace.read); return err },
		func() error { r.Vectorised, err = s.python.rate(ctx, "vectorised"); return err },
		func() error { r.First, err = s.millrace.bench(ctx, s.millrace.first); return err },
		func() error { r.Start, err = s.python.start(ctx); return err },
		func() error { r.Predict, err = s.millrace.bench(ctx, s.millrace.predict, model...); return err },
		func() error { r.Loop, err = s.python.rate(ctx, "predict", model...); return err },
		func() error { r.StartPredict, err = s.python.start(ctx, model...); return err },
		func() error { r.PerRecord, err = s.python.rate(ctx, "per_record"); return err },
		func() error { r.Regrouped, err = s.python.rate(ctx, "regrouped"); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return round{}, err
		}
	}
	return r, r.check()
}

// check returns an error unless both sides read all records.
func (r *round) check() error {
	if r.First.Records == 0 || r.First.Records != r.Start.Records {
		return fmt.Errorf("millrace read %d records in a pass, Python %d", r.First.Records, r.Start.Records)
	}
	if r.Read.Records != r.Predict.Records || r.Read.Records%r.First.Records != 0 {
		return fmt.Errorf("millrace read %d records, and %d with the model; a pass has %d",
			r.Read.Records, r.Predict.Records, r.First.Records)
	}
	return nil
}
