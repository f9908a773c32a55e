package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"millrace/internal/base/inferenceproto"
	"millrace/internal/test/identity"
	"millrace/internal/test/testruntime"
)

// writeText writes a file and returns its path.
func writeText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// With tokens, TLS and one port for both protocols, both protocols answer clients that
// show the token, and answer others only about health.
func TestServeAccess(t *testing.T) {
	testruntime.Need(t)
	own := identity.New(t)
	ssl := writeText(t, "ssl", fmt.Sprintf("server_key: %q server_cert: %q", own.Key, own.Certificate))
	tokens := writeText(t, "tokens", "# clients\nteam-a s3cret\n")
	settings := writeText(t, "settings.json", `{"models": [{"name": "m", "cache_bytes": 1000000}]}`)
	at, stop := startServe(t, "--model", "m=../../testdata/models/constant", "--rest-ssl-config-file", ssl, "--one-port", "--auth-tokens", tokens,
		"--model-settings", settings, "--enable_batching", "--max-queue-delay", "10s")
	trusted := &tls.Config{ServerName: "localhost", RootCAs: own.Pool}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted}}
	for _, tt := range []struct {
		method, path, token, body string
		status                    int
		want                      string
	}{
		{"POST", "/v1/models/m:predict", "s3cret", `{"instances": [1]}`, 200, "3.0"},
		{"POST", "/v1/models/m:predict", "", `{"instances": [1]}`, 401, "bearer token"},
		{"GET", "/v2/models/m", "s3cret", "", 200, "FP32"},
		{"GET", "/openapi.json", "s3cret", "", 200, "/v1/models/m:predict"},
		{"GET", "/metrics", "", "", 401, "bearer token"},
		{"GET", "/readyz", "", "", 200, "ok"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "https://"+at["http"]+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.token != "" {
			r.Header.Set("Authorization", "Bearer "+tt.token)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err != nil || a.StatusCode != tt.status || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s %s with %q: %d %s, %v", tt.method, tt.path, tt.token, a.StatusCode, text, err)
		}
	}
	client.CloseIdleConnections()
	conn, err := grpc.NewClient(at["http"], grpc.WithTransportCredentials(credentials.NewTLS(trusted)))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{"s3cret": "OK", "guess": "Unauthenticated"} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		err := conn.Invoke(ctx, "/inference.GRPCInferenceService/ServerLive", &inferenceproto.ServerLiveRequest{}, &inferenceproto.ServerLiveResponse{})
		if got := status.Code(err).String(); got != want {
			t.Errorf("gRPC with %q: %v, want %s", token, err, want)
		}
	}
	conn.Close()
	if code, said := stop(); code != 0 {
		t.Errorf("code %d:\n%s", code, said)
	}
}
