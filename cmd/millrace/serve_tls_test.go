package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"millrace/internal/base/servingproto"
	"millrace/internal/test/identity"
	"millrace/internal/test/testruntime"
)

// With an SSLConfig gRPC is encrypted. With client_verify only clients with a
// certificate that custom_ca signed are answered.
func TestServeTLS(t *testing.T) {
	testruntime.Need(t)
	own, stranger := identity.New(t), identity.New(t)
	client := func(certificates ...tls.Certificate) credentials.TransportCredentials {
		return credentials.NewTLS(&tls.Config{ServerName: "localhost", RootCAs: own.Pool, Certificates: certificates})
	}
	for _, mutual := range []bool{false, true} {
		refused := codes.OK
		config := fmt.Sprintf("server_key: %q server_cert: %q", own.Key, own.Certificate)
		if mutual {
			refused = codes.Unavailable
			config += fmt.Sprintf(" custom_ca: %q client_verify: true", own.Certificate)
		}
		file := filepath.Join(t.TempDir(), "ssl")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		at, stop := startServe(t, "--model", "m=../../testdata/models/constant", "--ssl_config_file", file)
		for name, tt := range map[string]struct {
			credentials credentials.TransportCredentials
			want        codes.Code
		}{
			"plain":                     {insecure.NewCredentials(), codes.Unavailable},
			"no certificate":            {client(), refused},
			"a certificate of another":  {client(stranger.TLS), refused},
			"a certificate that counts": {client(own.TLS), codes.OK},
			"another authority":         {credentials.NewTLS(&tls.Config{ServerName: "localhost"}), codes.Unavailable},
		} {
			conn, err := grpc.NewClient(at["grpc"], grpc.WithTransportCredentials(tt.credentials))
			if err != nil {
				t.Fatal(err)
			}
			q := &servingproto.GetModelStatusRequest{ModelSpec: &servingproto.ModelSpec{Name: "m"}}
			err = conn.Invoke(t.Context(), "/tensorflow.serving.ModelService/GetModelStatus", q, &servingproto.GetModelStatusResponse{})
			if status.Code(err) != tt.want {
				t.Errorf("mutual %v, %s: %v, want %v", mutual, name, err, tt.want)
			}
			conn.Close()
		}
		if code, said := stop(); code != 0 {
			t.Errorf("code %d:\n%s", code, said)
		}
	}
}
