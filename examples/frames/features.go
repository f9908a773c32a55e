package main

import (
	"context"
	"math"

	"millrace/graph"
	"millrace/graph/op"
	"millrace/tfbridge"
)

// The features of a frame are the logarithms of the energy of its sound in bands of the
// mel scale, which follows human hearing. A frame is 25 ms of sound, and there is one
// every 10 ms.
const (
	sampleRate = 16000
	window     = 400 // samples
	hop        = 160
	bins       = 257 // frequencies of a Fourier transform of 512 samples
	bands      = 40
	lowest     = 20.0 // Hz
	highest    = 7600.0
)

// extractor computes features with TensorFlow's operations. One goroutine at a time may
// use it. Close frees it.
type extractor struct {
	graph   *tfbridge.Graph
	session *tfbridge.Session
	wav     tfbridge.Output // placeholder of a file's contents
	mel     tfbridge.Output // float32 [frames, bands]
}

// newExtractor builds the graph.
//
//	wav -> DecodeWav -> AudioSpectrogram -> MatMul -> Log -> mean 0, variance 1
//	       samples      [frames, bins]      [frames, bands]
func newExtractor() (*extractor, error) {
	s := graph.NewScope()
	x := &extractor{graph: s.Graph(), wav: s.Placeholder(tfbridge.String, tfbridge.ScalarShape())}
	audio, rate := op.DecodeWav(s, x.wav, op.DecodeWavDesiredChannels(1))
	same := graph.Assert(s, graph.Equal(s, rate, s.Const(int32(sampleRate))), []tfbridge.Output{rate}, nil)
	s2 := s.WithControlDependencies(same)
	spectrogram := op.AudioSpectrogram(s2, audio, window, hop, op.AudioSpectrogramMagnitudeSquared(true))
	power := graph.Squeeze(s, spectrogram, 0)
	energy := op.MatMul(s, power, s.Const(melMatrix()))
	x.mel = normalized(s, op.Log(s, op.Maximum(s, energy, s.Const(float32(1e-6)))))
	err := s.Err()
	if err == nil {
		x.session, err = tfbridge.NewSession(x.graph, nil)
	}
	if err != nil {
		x.graph.Close()
		return nil, err
	}
	return x, nil
}

// normalized scales each band of a recording to mean 0 and variance 1.
func normalized(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	axis := s.Const([]int32{0})
	centered := graph.Sub(s, x, op.Mean(s, x, axis))
	variance := op.Mean(s, graph.Mul(s, centered, centered), axis)
	return op.Mul(s, centered, op.Rsqrt(s, graph.Add(s, variance, s.Const(float32(1e-6)))))
}

// melMatrix returns the weights of the bins in the bands: triangles that overlap by
// half, equally wide on the mel scale, as tf.signal.linear_to_mel_weight_matrix has
// them.
func melMatrix() [][]float32 {
	mel := func(hz float64) float64 { return 1127 * math.Log1p(hz/700) }
	edge := func(i int) float64 {
		return mel(lowest) + (mel(highest)-mel(lowest))*float64(i)/(bands+1)
	}
	matrix := make([][]float32, bins)
	for bin := range matrix {
		matrix[bin] = make([]float32, bands)
		if bin == 0 {
			continue // a constant does not sound
		}
		at := mel(float64(bin) * sampleRate / 2 / (bins - 1))
		for band := range bands {
			left, middle, right := edge(band), edge(band+1), edge(band+2)
			rising, falling := (at-left)/(middle-left), (right-at)/(right-middle)
			matrix[bin][band] = float32(max(0, min(rising, falling)))
		}
	}
	return matrix
}

// features returns the features of a WAV file: float32 [frames, bands], which the
// caller closes.
func (x *extractor) features(ctx context.Context, wav []byte) (*tfbridge.Tensor, error) {
	contents, err := tfbridge.NewTensor(string(wav))
	if err != nil {
		return nil, err
	}
	defer contents.Close()
	out, err := x.session.RunContext(ctx, map[tfbridge.Output]*tfbridge.Tensor{x.wav: contents}, []tfbridge.Output{x.mel}, nil)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// Close frees the session and the graph.
func (x *extractor) Close() {
	x.session.Close()
	x.graph.Close()
}
