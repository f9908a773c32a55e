package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"millrace/graph/tf1/datapipeline"
	"millrace/tfbridge"
)

// The recordings: four for training and one that is held back.
var (
	trainSet = []string{"0870", "0880", "0890", "0920"}
	devSet   = []string{"0930"}
)

// phones are the classes: the phonemes of the CMU pronouncing dictionary, and silence.
var phones = strings.Fields("SIL AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH")

// segment is a part of a recording: an utterance, its words, or their phonemes.
type segment struct {
	Start    float64   `json:"b"` // seconds
	Duration float64   `json:"d"` // seconds
	Text     string    `json:"t"`
	Parts    []segment `json:"w"`
}

// loadRecordings returns a dataset of the recordings of some names. Its sequences have
// the features of the frames as "data" and their phonemes as "classes". The caller
// closes the recordings.
func loadRecordings(ctx context.Context, x *extractor, dir, dataset string, names []string) (*recordings, error) {
	r := &recordings{StaticDataset: datapipeline.StaticDataset{DatasetName: dataset}}
	for _, name := range names {
		seq, err := loadRecording(ctx, x, filepath.Join(dir, name))
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("recording %s: %w", name, err)
		}
		r.Seqs = append(r.Seqs, seq)
	}
	return r, nil
}

// recordings is a dataset whose features are tensors.
type recordings struct{ datapipeline.StaticDataset }

// Close frees the features.
func (r *recordings) Close() {
	for _, seq := range r.Seqs {
		seq.Data["data"].(*tfbridge.Tensor).Close()
	}
}

// loadRecording reads path.wav and path.phone.json.
func loadRecording(ctx context.Context, x *extractor, path string) (*datapipeline.Sequence, error) {
	wav, err := os.ReadFile(path + ".wav")
	if err != nil {
		return nil, err
	}
	alignment, err := readAlignment(path + ".phone.json")
	if err != nil {
		return nil, err
	}
	features, err := x.features(ctx, wav)
	if err != nil {
		return nil, err
	}
	classes, err := label(alignment, features.Shape()[0])
	if err != nil {
		features.Close()
		return nil, err
	}
	return &datapipeline.Sequence{Tag: filepath.Base(path), Data: map[string]any{"data": features, "classes": classes}}, nil
}

// readAlignment returns the phonemes of a recording, in their order.
func readAlignment(path string) ([]segment, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var utterance segment
	if err := json.Unmarshal(text, &utterance); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []segment
	for _, word := range utterance.Parts {
		all = append(all, word.Parts...)
	}
	return all, nil
}

// label returns the class of each of n frames: the phoneme at its middle.
func label(alignment []segment, n int64) ([]int32, error) {
	if len(alignment) == 0 {
		return nil, errors.New("the alignment has no phonemes")
	}
	classes := make([]int32, n)
	at := 0
	for t := range classes {
		middle := (float64(t)*hop + window/2) / sampleRate
		for at+1 < len(alignment) && middle >= alignment[at+1].Start {
			at++
		}
		class := slices.Index(phones, alignment[at].Text)
		if class < 0 {
			return nil, fmt.Errorf("unknown phoneme %q", alignment[at].Text)
		}
		classes[t] = int32(class)
	}
	return classes, nil
}
