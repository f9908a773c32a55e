package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/testruntime"
	"millrace/serving"
)

// quiet is a logger that drops everything.
var quiet = slog.New(slog.DiscardHandler)

// startLimited serves a model with a number of bytes for requests, and returns the
// server and a client.
func startLimited(t *testing.T, limit int64, messageTime time.Duration) (*serving.Server, *grpc.ClientConn) {
	t.Helper()
	return startAs(t, limit, func(s *services) { s.receiver.wait = messageTime })
}

// startAs is startLimited for adjusted services.
func startAs(t *testing.T, limit int64, adjust func(*services)) (*serving.Server, *grpc.ClientConn) {
	t.Helper()
	testruntime.Need(t)
	s, err := serving.New(t.Context(), []serving.ModelConfig{{Name: "constant", BasePath: testdata + "constant"}, {Name: "examples", BasePath: testdata + "examples"}},
		&serving.Options{FileSystemPollWait: -1, Logger: quiet, RequestMemory: limit})
	if err != nil {
		t.Fatal(err)
	}
	own := newServices(s, &Options{Logger: quiet})
	adjust(own)
	server := own.newServer()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	conn := dial(t, l.Addr().String(), insecure.NewCredentials())
	t.Cleanup(func() { conn.Close(); server.Stop(); s.Close() })
	return s, conn
}

// waitEmpty waits until no request takes memory.
func waitEmpty(t *testing.T, s *serving.Server) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); s.Memory.InUse() != 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are in use", s.Memory.InUse())
		}
	}
}

// vector is a request for a prediction of n numbers.
func vector(n int) *servingproto.PredictRequest {
	return &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: map[string]*tfproto.TensorProto{"x": floats(make([]float32, n)...)}}
}

// Requests that need more memory than there is are refused: by the length of the
// message, while it inflates, for its parsed form, for its tensors, for its Examples,
// and for its answer. All memory returns.
func TestMemory(t *testing.T) {
	s, conn := startLimited(t, 4<<20, time.Minute)
	shared := &tfproto.Example{Features: &tfproto.Features{Feature: map[string]*tfproto.Feature{"s": {
		Kind: &tfproto.Feature_BytesList{BytesList: &tfproto.BytesList{Value: [][]byte{make([]byte, 50_000)}}}}}}}
	withContext := &servingproto.ClassificationRequest{ModelSpec: spec("examples", "classify"), Input: &servingproto.Input{Kind: &servingproto.Input_ExampleListWithContext{
		ExampleListWithContext: &servingproto.ExampleListWithContext{Context: shared, Examples: slicesOf(&tfproto.Example{}, 100)}}}}
	empty := &servingproto.ClassificationRequest{ModelSpec: spec("examples", "classify"), Input: &servingproto.Input{Kind: &servingproto.Input_ExampleList{
		ExampleList: &servingproto.ExampleList{Examples: slicesOf(&tfproto.Example{}, 40_000)}}}}
	repeated := vector(1)
	repeated.Inputs["x"].TensorShape = shape(1 << 20)
	for _, tt := range []struct {
		name, method string
		q            proto.Message
		options      []grpc.CallOption
		want         codes.Code
	}{
		{"sound", "Predict", vector(10), nil, codes.OK},
		{"sound, long", "Predict", vector(100_000), nil, codes.OK},
		{"compressed", "Predict", vector(100_000), []grpc.CallOption{grpc.UseCompressor(gzip.Name)}, codes.OK},
		{"a long message", "Predict", vector(1_000_000), nil, codes.ResourceExhausted},
		{"gzip", "Predict", vector(2_000_000), []grpc.CallOption{grpc.UseCompressor(gzip.Name)}, codes.ResourceExhausted},
		{"a tensor", "Predict", repeated, nil, codes.ResourceExhausted},
		{"a context", "Classify", withContext, nil, codes.ResourceExhausted},
		{"empty Examples", "Classify", empty, nil, codes.ResourceExhausted},
		{"the answer", "Predict", vector(300_000), nil, codes.ResourceExhausted},
		{"sound again", "Predict", vector(10), nil, codes.OK},
	} {
		before := s.Memory.Refused()
		err := conn.Invoke(t.Context(), "/tensorflow.serving.PredictionService/"+tt.method, tt.q, &servingproto.PredictResponse{}, tt.options...)
		if status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if counted := s.Memory.Refused() > before; counted != (tt.want != codes.OK) {
			t.Errorf("%s: counted as refused: %v", tt.name, counted)
		}
		waitEmpty(t, s)
	}
}

// slicesOf returns a list with one message n times.
func slicesOf[M any](m M, n int) []M {
	all := make([]M, n)
	for i := range all {
		all[i] = m
	}
	return all
}

// Many long messages at once are refused beyond the budget. Normal requests are
// answered meanwhile.
func TestMemoryOfMany(t *testing.T) {
	s, conn := startLimited(t, 32<<20, time.Minute)
	var senders, sound sync.WaitGroup
	stop := make(chan struct{})
	most, answered := int64(0), 0
	sound.Go(func() {
		for ; ; answered++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := ask[servingproto.PredictResponse](t, conn, "PredictionService/Predict", vector(1)); err != nil {
				t.Errorf("sound request %d: %v", answered, err)
				return
			}
			most = max(most, s.Memory.InUse())
		}
	})
	for range 40 {
		senders.Go(func() {
			long := dial(t, conn.Target(), insecure.NewCredentials())
			defer long.Close()
			_, err := ask[servingproto.PredictResponse](t, long, "PredictionService/Predict", vector(800_000))
			if code := status.Code(err); code != codes.OK && code != codes.ResourceExhausted {
				t.Errorf("a long message: %v", err)
			}
		})
	}
	senders.Wait()
	close(stop)
	sound.Wait()
	if most > 32<<20 || answered == 0 || s.Memory.Refused() == 0 {
		t.Errorf("%d bytes in use at most, %d sound requests, %d refusals", most, answered, s.Memory.Refused())
	}
	waitEmpty(t, s)
}

// sendHalf sends a part of a longer message, and returns the end of the request.
func sendHalf(ctx context.Context, address string, length, part int) error {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	body, w := io.Pipe()
	defer body.Close()
	go w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(length)), make([]byte, part)...))
	q, err := http.NewRequestWithContext(ctx, "POST", "http://"+address+"/tensorflow.serving.PredictionService/Predict", body)
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/grpc")
	q.Header.Set("TE", "trailers")
	a, err := transport.RoundTrip(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	return errors.New(a.Header.Get("Grpc-Message") + a.Trailer.Get("Grpc-Message"))
}

// Incomplete messages end their requests when their time is over.
func TestMemoryHalfSent(t *testing.T) {
	s, conn := startLimited(t, 32<<20, 500*time.Millisecond)
	ends := make(chan error, 8)
	for range cap(ends) {
		go func() { ends <- sendHalf(t.Context(), conn.Target(), 2_000_000, 1_000_000) }()
	}
	for s.Memory.InUse() < 8<<20 && len(ends) == 0 { // on a busy machine the first may end before the last begins
		runtime.Gosched()
	}
	if _, err := ask[servingproto.PredictResponse](t, conn, "PredictionService/Predict", vector(1)); err != nil {
		t.Errorf("a sound request: %v", err)
	}
	waitEmpty(t, s)
	for range cap(ends) {
		if err := <-ends; err == nil || !strings.Contains(err.Error(), "did not arrive within") {
			t.Errorf("a half message ended with %v", err)
		}
	}
}
