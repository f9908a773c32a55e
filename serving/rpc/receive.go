package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"millrace/serving/budget"
)

/*
How messages are received within the budget

gRPC reads all of a request's message before it calls a method, or before RecvMsg returns:
up to the longest message for each stream of each connection. Nothing that it offers runs
between the length of a message, which comes first, and its bytes: a tap sees the headers, a
codec and a stats handler the whole message, and the receive buffers do not say whose they
are.

So the methods are declared as streams, whose handlers run before the message is read, and
receive reads it from gRPC's own stream:

	1 byte     4 bytes     length bytes
	[ flag ]  [ length ]  [ .... read in parts, each within the budget .... ]

Until a part is read, flow control holds the client back at the window of the stream. On the
wire a stream of one message each way is a unary call. The methods of gRPC's stream are not
part of its API: where they are missing, RecvMsg reads the message, which then counts when
it is there. TestMemory fails in that case.

A message that does not arrive within messageTime ends its request. Reading only ends when
the context of the stream does, and only a tap can give it another one.
*/

// messageStream is gRPC's stream of a request.
type messageStream interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// receiver receives the messages of requests. Many goroutines may use it.
type receiver struct {
	most  int64         // bytes of a message
	wait  time.Duration // how long to wait for a message
	rooms sync.Pool     // holds *[]byte for messages
}

// messageTime is how long a message may take to arrive after the headers of its request.
const messageTime = time.Minute

// mostKept is how much memory is kept for the next message.
const mostKept = 2 << 20

// arrivalKey is the key of a stream's arrival.
type arrivalKey struct{}

// arrival is the state of a stream before its message.
type arrival struct {
	cancel  context.CancelFunc // ends the context of the stream
	headers int64              // bytes of its metadata in memory
}

// interruptible gives a stream a context that the server can end.
func interruptible(ctx context.Context, info *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancel(ctx)
	a := &arrival{cancel: cancel}
	for key, values := range info.Header {
		a.headers += headerBytes + int64(len(key))
		for _, v := range values {
			a.headers += headerBytes + int64(len(v))
		}
	}
	return context.WithValue(ctx, arrivalKey{}, a), nil
}

// headerBytes is the memory of a key or a value of metadata in addition to its text.
const headerBytes = 32

// maxHeaders is the longest metadata of a request, in HTTP/2's measure. gRPC would
// allow 16 MB for each stream, before our code gets it.
const maxHeaders = 32 << 10

// receive reads the message of a request. The lease has the memory of the message.
func (r *receiver) receive(stream grpc.ServerStream, q proto.Message, lease *budget.Lease) error {
	began := time.Now() // before the timer begins, so that the time is over when it ends
	if a, ok := stream.Context().Value(arrivalKey{}).(*arrival); ok {
		late := time.AfterFunc(r.wait, a.cancel)
		defer late.Stop()
		if err := lease.Grow(a.headers); err != nil {
			return err
		}
	}
	from, ok := grpc.ServerTransportStreamFromContext(stream.Context()).(messageStream)
	if !ok {
		if err := stream.RecvMsg(q); err != nil {
			return err
		}
		return lease.Grow(int64(proto.Size(q)))
	}
	room, _ := r.rooms.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	before := lease.Held()
	text, err := r.readMessage(from, *room, lease)
	defer func() {
		if *room = text; cap(text) <= mostKept {
			r.rooms.Put(room)
		}
	}()
	if err != nil && stream.Context().Err() != nil && time.Since(began) >= r.wait {
		return status.Errorf(codes.DeadlineExceeded, "the message did not arrive within %v", r.wait)
	}
	if err != nil {
		return err
	}
	wire := lease.Held() - before
	if err := lease.Grow(parsedBytes(q.ProtoReflect().Descriptor(), text, maxDepth)); err != nil {
		return err
	}
	if err := proto.Unmarshal(text, q); err != nil {
		return status.Errorf(codes.InvalidArgument, "the message cannot be parsed: %v", err)
	}
	lease.Shrink(wire) // messages have copies of their bytes
	return nil
}

// readMessage reads a decompressed message into the memory of room, or into larger
// memory.
func (r *receiver) readMessage(from messageStream, room []byte, lease *budget.Lease) ([]byte, error) {
	var header [5]byte
	if err := from.ReadMessageHeader(header[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = errNoMessage
		}
		return room, incomplete(err)
	}
	length, most := int64(binary.BigEndian.Uint32(header[1:])), r.most
	if length > most {
		return room, tooLong(length, most)
	}
	if err := lease.Check(length); err != nil {
		return room, err
	}
	message := &messageReader{from, length}
	if header[0] == 0 {
		text, err := lease.ReadAll(room, message, length)
		return text, incomplete(err)
	}
	c := encoding.GetCompressor(from.RecvCompress())
	if header[0] != 1 || c == nil {
		return room, status.Errorf(codes.Internal, "the message has the flag %d and the encoding %q", header[0], from.RecvCompress())
	}
	inflated, err := c.Decompress(message)
	if err != nil {
		return room, status.Errorf(codes.Internal, "the message cannot be decompressed: %v", err)
	}
	text, err := lease.ReadAll(room, io.LimitReader(inflated, most+1), -1)
	if err == nil && int64(len(text)) > most {
		err = tooLong(int64(len(text)), most)
	}
	return text, incomplete(err)
}

// messageReader reads the bytes of a message.
type messageReader struct {
	from messageStream
	rest int64
}

// Read waits until all of p, or all that is left, has arrived.
func (r *messageReader) Read(p []byte) (int, error) {
	if r.rest == 0 {
		return 0, io.EOF
	}
	data, err := r.from.Read(int(min(r.rest, int64(len(p)))))
	defer data.Free()
	n := data.CopyTo(p)
	r.rest -= int64(n)
	return n, err
}

// errNoMessage is the error of a stream that ends where a message could begin.
var errNoMessage = status.Error(codes.Internal, "the request ends before its message")

// incomplete returns the error of a stream that ends within a message, or before it.
func incomplete(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Error(codes.Internal, "the request ends before its message is complete")
	}
	return err
}

// tooLong returns the error of a message that is longer than allowed.
func tooLong(length, most int64) error {
	return status.Errorf(codes.ResourceExhausted, "the message is longer than allowed (%d bytes, at most %d)", length, most)
}
