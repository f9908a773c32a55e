package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"millrace/internal/base/servingproto"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The program answers clients that show the token, in both protocols on its port. It
// ends on a signal.
func TestEmbed(t *testing.T) {
	testruntime.Need(t)
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, "../../testdata/models/constant", "s3cret") }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{"s3cret": "200 {\"predictions\":[3.0,5.0]}OK", "guess": "401 {\"error\":\"the bearer token is not known\"}Unauthenticated"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+"/v1/models/digits:predict", strings.NewReader(`{"instances": [1, 2]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		q := &servingproto.GetModelStatusRequest{ModelSpec: &servingproto.ModelSpec{Name: "digits"}}
		asked := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		err = conn.Invoke(asked, "/tensorflow.serving.ModelService/GetModelStatus", q, &servingproto.GetModelStatusResponse{})
		if got := fmt.Sprint(a.StatusCode, " ", strings.TrimSpace(string(text)), status.Code(err)); got != want {
			t.Errorf("token %q:\n got %s\nwant %s", token, got, want)
		}
		if (status.Code(err) == codes.OK) != (token == "s3cret") {
			t.Errorf("gRPC with token %q: %v", token, err)
		}
	}
	conn.Close()
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
