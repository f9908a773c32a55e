package datapipeline_test

import (
	"errors"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// conv adds a convolution over time, without padding.
func conv(s *graph.Scope, x tfbridge.Output, kernel, stride, dilation int64) tfbridge.Output {
	image := graph.ExpandDims(s, x, 2)
	filter := s.Zeros(tfbridge.Float, kernel, 1, 2, 2)
	y := s.Op1("Conv2D", map[string]any{
		"strides": []int64{1, stride, 1, 1}, "dilations": []int64{1, dilation, 1, 1}, "padding": "VALID",
	}, image, filter)
	return graph.Squeeze(s, y, 2)
}

// convolutions is a network with a context of 5 - 1 + 2 (4 - 1) = 10 frames.
func convolutions(s *graph.Scope, data map[string]tfbridge.Output) tfbridge.Output {
	return conv(s, conv(s, data["data"], 5, 1, 1), 4, 1, 2)
}

// The context of a network is the sum of its kernel sizes, each minus 1.
func TestContextSize(t *testing.T) {
	for name, test := range map[string]struct {
		network datapipeline.Network
		want    int // context in frames; -1: an error
	}{
		"convolutions": {convolutions, 10},
		"no context":   {func(s *graph.Scope, data map[string]tfbridge.Output) tfbridge.Output { return data["data"] }, 0},
		"stride": {func(s *graph.Scope, data map[string]tfbridge.Output) tfbridge.Output {
			return conv(s, data["data"], 5, 2, 1)
		}, -1},
		"longer": {func(s *graph.Scope, data map[string]tfbridge.Output) tfbridge.Output {
			return graph.ConcatV2(s, []tfbridge.Output{data["data"], data["data"]}, 1)
		}, -1},
		"unknown": {func(s *graph.Scope, data map[string]tfbridge.Output) tfbridge.Output {
			return graph.Reshape(s, data["data"], s.Placeholder(tfbridge.Int64, tfbridge.MakeShape(3)))
		}, -1},
		"no time": {func(s *graph.Scope, data map[string]tfbridge.Output) tfbridge.Output { return data["seq_idx"] }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := speech.ContextSize(test.network)
			if test.want < 0 {
				if err == nil {
					t.Errorf("got %d, want an error", got)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("got %d, %v; want %d", got, err, test.want)
			}
		})
	}
}

// A provider takes the context from the network: an output for each target, in chunks.
// A context that is set wins.
func TestContextOfNetwork(t *testing.T) {
	options := func(context map[string]datapipeline.Context) datapipeline.Options {
		return datapipeline.Options{
			Chunking: datapipeline.Chunking{Size: 4, Context: context}, Batching: datapipeline.Batching{BatchSize: 200}, Network: convolutions,
		}
	}
	for name, test := range map[string]struct {
		context      map[string]datapipeline.Context
		before, want int // leading zeros, and frames of a chunk
	}{
		"of the network": {nil, 5, 14},
		"set":            {map[string]datapipeline.Context{"data": {Left: 1, Right: 2}}, 1, 7},
		"none":           {map[string]datapipeline.Context{}, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			o := options(test.context)
			for _, r := range newReaders(t, s, providers(t, s, speech, &o)...) {
				b := r.all(t, recording("train", 8), datapipeline.Epoch{Train: true})[0]
				row := b["data"].([][][]float32)[0]
				if len(row) != test.want || row[test.before][0] != 1 || test.before > 0 && row[test.before-1][0] != 0 {
					t.Errorf("%T: %v; want %d frames, %d zeros in front", r.DataProvider, row, test.want, test.before)
				}
			}
		})
	}
	o := options(nil)
	o.Network = func(s *graph.Scope, data map[string]tfbridge.Output) tfbridge.Output {
		return conv(s, data["data"], 5, 2, 1)
	}
	s := graphtest.NewScope(t)
	if _, err := datapipeline.NewQueueDataProvider(s, speech, &o); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a network with a stride: %v", err)
	}
	if _, err := datapipeline.NewFeedDictDataProvider(s, speech, &datapipeline.FeedDictOptions{Options: o}); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a network with a stride: %v", err)
	}
}

// A recurrent model must not see shuffled frames. It may see shuffled chunks, and any
// other model may see shuffled frames.
func TestRecurrent(t *testing.T) {
	for _, test := range []struct {
		recurrent bool
		size      int
		refused   bool
	}{{true, 1, true}, {true, 2, false}, {false, 1, false}} {
		o := datapipeline.Options{
			Chunking: datapipeline.Chunking{Size: test.size}, Batching: datapipeline.Batching{BatchSize: 10},
			ShuffleChunks: 10, Recurrent: test.recurrent,
		}
		s := graphtest.NewScope(t)
		_, fed := datapipeline.NewFeedDictDataProvider(s, speech, &datapipeline.FeedDictOptions{Options: o})
		_, queues := datapipeline.NewQueueDataProvider(s, speech, &o)
		for _, err := range []error{fed, queues} {
			if refused := errors.Is(err, millrace.ErrModel); refused != test.refused || err != nil && !refused {
				t.Errorf("recurrent %v, chunks of %d frames: %v", test.recurrent, test.size, err)
			}
		}
	}
}
