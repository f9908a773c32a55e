package service

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"millrace"
)

// Timeout is how long a call waits for its answer.
const Timeout = 10 * time.Second

// mostAnswered bounds an answer: the address of a worker takes less than 300 bytes.
const mostAnswered = 16 << 20

// frame is the size of what stands before a message: a flag and the length.
const frame = 5

// call makes one unary call of gRPC and returns the answer, a serialized message. A server
// that does not answer in time, or is another one, is an error of class millrace.ErrIO.
func call(ctx context.Context, address, method string, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, errors.New("no answer within "+Timeout.String()))
	defer cancel()
	answer, err := roundTrip(ctx, address, method, message)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, millrace.Errorf(millrace.ErrIO, "the data service at %s: %w", millrace.Quote(address), err)
	}
	return answer, nil
}

func roundTrip(ctx context.Context, address, method string, message []byte) ([]byte, error) {
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, (&url.URL{Scheme: "http", Host: address, Path: method}).String(), bytes.NewReader(append(body, message...)))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/grpc")
	q.Header.Set("TE", "trailers")
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	a, err := transport.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	data, err := io.ReadAll(io.LimitReader(a.Body, mostAnswered))
	if err != nil {
		return nil, err
	}
	status := a.Trailer.Get("Grpc-Status")
	if status == "" {
		status = a.Header.Get("Grpc-Status") // an answer without a message
	}
	if status != "0" {
		said, _ := url.PathUnescape(a.Trailer.Get("Grpc-Message") + a.Header.Get("Grpc-Message"))
		if n, err := strconv.Atoi(status); err != nil {
			return nil, errors.New("this is not a server of gRPC")
		} else if n == unimplemented {
			return nil, errors.New("this server is not one of a data service of TensorFlow")
		}
		return nil, errors.New("status " + status + ": " + said)
	}
	if len(data) < frame || data[0] != 0 || int64(binary.BigEndian.Uint32(data[1:])) != int64(len(data)-frame) {
		return nil, errors.New("the answer is damaged")
	}
	return data[frame:], nil
}

// unimplemented is gRPC's code for a method that a server does not have.
const unimplemented = 12
