package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/tool/load"
)

// The callers of gRPC share connections, as grpc-go's clients do.
const servingChannels = 16

const grpcPredict = "/tensorflow.serving.PredictionService/Predict"

// loadGRPC measures the gRPC interface of a server. Each caller sends its next request
// after an answer. The client is grpc-go, which costs about as much as the server.
func (s *serving) loadGRPC(ctx context.Context, at *server) (served, error) {
	requests, err := s.messages()
	if err != nil {
		return served{}, err
	}
	var channels []*grpc.ClientConn
	defer func() {
		for _, c := range channels {
			c.Close()
		}
	}()
	for range servingChannels {
		c, err := grpc.NewClient(at.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return served{}, err
		}
		channels = append(channels, c)
	}
	m := &grpcLoad{counted: time.Now().Add(servingWarm), end: time.Now().Add(servingWarm + servingTime)}
	var callers sync.WaitGroup
	before := processTime()
	for i := range servingConnections {
		callers.Go(func() { m.call(ctx, channels[i%len(channels)], requests[i%len(requests)]) })
	}
	callers.Wait()
	seconds := (processTime() - before).Seconds()
	return served{
		RequestsPerS: float64(m.latencies.N) / servingTime.Seconds(),
		P50S:         m.latencies.Percentile(50).Seconds(), P99S: m.latencies.Percentile(99).Seconds(),
		GeneratorS: seconds / float64(max(m.all, 1)),
	}, m.err
}

// messages returns the requests as messages.
func (s *serving) messages() ([]*servingproto.PredictRequest, error) {
	var all []*servingproto.PredictRequest
	for _, text := range s.bodies {
		var body struct{ Instances [1][]float32 }
		if err := json.Unmarshal(text, &body); err != nil {
			return nil, err
		}
		shape := &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 1}, {Size: servingFeatures}}}
		all = append(all, &servingproto.PredictRequest{
			ModelSpec: &servingproto.ModelSpec{Name: "m"},
			Inputs:    map[string]*tfproto.TensorProto{"x": {Dtype: tfproto.DataType_DT_FLOAT, TensorShape: shape, FloatVal: body.Instances[0]}},
		})
	}
	return all, nil
}

// grpcLoad collects the callers' results.
type grpcLoad struct {
	counted, end time.Time

	mu        sync.Mutex // guards the fields below
	latencies load.Histogram
	all       int64
	err       error
}

// call makes calls until the end.
func (m *grpcLoad) call(ctx context.Context, c *grpc.ClientConn, q *servingproto.PredictRequest) {
	for begun := time.Now(); begun.Before(m.end); begun = time.Now() {
		err := c.Invoke(ctx, grpcPredict, q, &servingproto.PredictResponse{})
		took := time.Since(begun)
		m.mu.Lock()
		m.all++
		m.err = errors.Join(m.err, err)
		if begun.After(m.counted) {
			m.latencies.Add(took)
		}
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
