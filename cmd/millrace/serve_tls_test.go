package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"millrace/internal/servingproto"
	"millrace/internal/test/testruntime"
)

// identity returns a certificate of localhost, the pool that trusts it, and both its
// parts in PEM form, quoted for an SSLConfig.
func identity(t *testing.T) (own tls.Certificate, pool *x509.CertPool, key, certificate string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, b []byte) string {
		return strconv.Quote(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})))
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(root)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, pool, text("PRIVATE KEY", encoded), text("CERTIFICATE", der)
}

// With an SSLConfig gRPC is encrypted. With client_verify only clients with a
// certificate that custom_ca signed are answered.
func TestServeTLS(t *testing.T) {
	testruntime.Need(t)
	own, pool, key, certificate := identity(t)
	stranger, _, _, _ := identity(t)
	client := func(certificates ...tls.Certificate) credentials.TransportCredentials {
		return credentials.NewTLS(&tls.Config{ServerName: "localhost", RootCAs: pool, Certificates: certificates})
	}
	for _, mutual := range []bool{false, true} {
		refused := codes.OK
		config := fmt.Sprintf("server_key: %s server_cert: %s", key, certificate)
		if mutual {
			refused = codes.Unavailable
			config += fmt.Sprintf(" custom_ca: %s client_verify: true", certificate)
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
			"a certificate of another":  {client(stranger), refused},
			"a certificate that counts": {client(own), codes.OK},
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
