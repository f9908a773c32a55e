package rpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"millrace/internal/base/servingproto"
)

// predictWith predicts with metadata of n bytes.
func predictWith(ctx context.Context, conn *grpc.ClientConn, n int) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "x-padding", strings.Repeat("p", n))
	return conn.Invoke(ctx, "/tensorflow.serving.PredictionService/Predict", vector(3), new(servingproto.PredictResponse))
}

// Metadata that is longer than allowed is refused, and the connection continues.
// Allowed metadata counts as memory of its request.
func TestMetadata(t *testing.T) {
	s, conn := startLimited(t, 4<<20, time.Minute)
	for range 3 {
		if err := predictWith(t.Context(), conn, 8<<10); err != nil {
			t.Errorf("metadata of 8 KiB: %v", err)
		}
		if err := predictWith(t.Context(), conn, 2*maxHeaders); err == nil {
			t.Errorf("metadata of %d bytes is taken", 2*maxHeaders)
		}
	}
	waitEmpty(t, s)

	s, conn = startLimited(t, 16<<10, time.Minute)
	if err := predictWith(t.Context(), conn, 20<<10); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("metadata that exceeds the budget: %v", err)
	}
	if err := predictWith(t.Context(), conn, 1<<10); err != nil {
		t.Errorf("metadata within the budget: %v", err)
	}
	waitEmpty(t, s)
}
