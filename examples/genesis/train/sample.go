package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"millrace/graph"
	"millrace/tfbridge"
)

// memory is how many of the last characters the model sees when it writes: as many as a
// window of its training had.
const memory = 100

// sampleOptions are the options of sample.
type sampleOptions struct {
	Start       string
	Characters  int
	Temperature float64 // 1: the model's probabilities; below 1: likelier characters more often
	Seed        uint64
}

// sample lets a trained model write. Each character is drawn from the model's
// distribution, and becomes a part of the text that the model sees next.
func sample(ctx context.Context, dir string, out io.Writer, o *sampleOptions) error {
	model, err := graph.LoadModel(dir, nil)
	if err != nil {
		return err
	}
	defer model.Close()
	random := rand.New(rand.NewPCG(o.Seed, 0))
	text := []byte(o.Start)
	for range o.Characters {
		scores, err := next(ctx, model, text[max(0, len(text)-memory):])
		if err != nil {
			return err
		}
		text = append(text, draw(random, scores, o.Temperature))
	}
	_, err = fmt.Fprintf(out, "\n%s\n", text)
	return err
}

// next returns the model's logits for the character after a text.
func next(ctx context.Context, model *graph.Model, text []byte) ([]float32, error) {
	results, err := model.Call(ctx, "serving_default", map[string]any{"text": [][]uint8{text}})
	if err != nil {
		return nil, err
	}
	defer results["logits"].Close()
	logits, err := tfbridge.View[float32](results["logits"])
	if err != nil {
		return nil, err
	}
	return append([]float32(nil), logits[len(logits)-characters:]...), nil
}

// draw draws a character by the softmax of logits.
func draw(random *rand.Rand, logits []float32, temperature float64) byte {
	weights, sum := make([]float64, len(logits)), 0.0
	for c, logit := range logits {
		weights[c] = math.Exp(float64(logit) / temperature)
		sum += weights[c]
	}
	at := random.Float64() * sum
	for c, w := range weights {
		if at -= w; at < 0 {
			return byte(c)
		}
	}
	return '\n' // reached only because of rounding
}
