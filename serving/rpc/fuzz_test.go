package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/testruntime"
	"millrace/serving"
)

// slowest is how long an answer may take: no body may make a client wait longer.
const slowest = 10 * time.Second

// FuzzBodies gives every method bodies of any kind. Each is answered in time, and never
// with a server error.
func FuzzBodies(f *testing.F) {
	testruntime.Need(f)
	var configs []serving.ModelConfig
	for _, name := range []string{"linear", "examples", "strings", "payloads"} {
		configs = append(configs, serving.ModelConfig{Name: name, BasePath: testdata + name})
	}
	s, err := serving.New(context.Background(), configs, &serving.Options{FileSystemPollWait: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	models := newServices(s, &Options{MaxTensorBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	var methods []grpc.StreamDesc
	for _, service := range models.descriptions() {
		for _, m := range service.Streams {
			if m.StreamName != "HandleReloadConfigRequest" { // it would read any folder that a client names
				methods = append(methods, m)
			}
		}
	}
	for i, q := range seeds() {
		body, err := proto.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		method := i
		if _, ok := q.(*servingproto.PredictRequest); ok {
			method = 0
		}
		f.Add(byte(method), body)
	}
	f.Fuzz(func(t *testing.T, method byte, body []byte) {
		m := methods[int(method)%len(methods)]
		ctx, cancel := context.WithTimeout(t.Context(), slowest)
		defer cancel()
		header := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))
		stream := &fakeStream{ctx: grpc.NewContextWithServerTransportStream(ctx, &fakeTransport{unread: append(header, body...)})}
		err := m.Handler(nil, stream)
		if used := s.Memory.InUse(); used != 0 {
			t.Errorf("%s(%q): %d bytes are in use", m.StreamName, body, used)
		}
		if code := status.Code(err); code == codes.Internal || code == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s(%q): %v", m.StreamName, body, err)
		}
	})
}

// fakeStream is a stream of a request that has arrived.
type fakeStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *fakeStream) Context() context.Context { return s.ctx }
func (*fakeStream) SendMsg(any) error          { return nil }

// fakeTransport is the transport's side of a fakeStream.
type fakeTransport struct {
	grpc.ServerTransportStream
	unread []byte
}

func (*fakeTransport) RecvCompress() string { return "" }

func (s *fakeTransport) ReadMessageHeader(p []byte) error {
	s.unread = s.unread[copy(p, s.unread):]
	return nil
}

func (s *fakeTransport) Read(n int) (mem.BufferSlice, error) {
	part := mem.SliceBuffer(s.unread[:n])
	s.unread = s.unread[n:]
	return mem.BufferSlice{part}, nil
}

// seeds are requests of the methods in their order.
func seeds() []proto.Message {
	killer := corrupt.Unpacked(1, 100)
	text := func(values ...[]byte) *tfproto.TensorProto {
		return &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, StringVal: values, TensorShape: shape(int64(len(values)))}
	}
	task := &servingproto.InferenceTask{ModelSpec: spec("examples", "classify"), MethodName: "tensorflow/serving/classify"}
	all := []proto.Message{
		&servingproto.PredictRequest{ModelSpec: spec("linear", ""), Inputs: map[string]*tfproto.TensorProto{"x": {
			Dtype: tfproto.DataType_DT_FLOAT, TensorShape: shape(1, 3), FloatVal: []float32{1, 2, 3}}}},
		&servingproto.ClassificationRequest{ModelSpec: spec("examples", "classify"), Input: examples(1, 2)},
		&servingproto.RegressionRequest{ModelSpec: spec("examples", "regress"), Input: examples(1, 2)},
		&servingproto.MultiInferenceRequest{Tasks: []*servingproto.InferenceTask{task}, Input: examples(1)},
		&servingproto.GetModelMetadataRequest{ModelSpec: spec("examples", ""), MetadataField: []string{"signature_def"}},
		&servingproto.GetModelStatusRequest{ModelSpec: spec("linear", "")},
		&servingproto.PredictRequest{ModelSpec: spec("examples", "classify"), Inputs: map[string]*tfproto.TensorProto{"inputs": text(killer, corrupt.Example(1))}},
	}
	for _, h := range hostileTensors() {
		all = append(all, &servingproto.PredictRequest{ModelSpec: h.spec, Inputs: map[string]*tfproto.TensorProto{"x": h.tensor}})
	}
	return all
}
