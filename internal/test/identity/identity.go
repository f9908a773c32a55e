// Package identity makes certificates for tests of TLS.
package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Identity is a self-signed certificate for localhost, for a server or a client.
type Identity struct {
	TLS              tls.Certificate
	Pool             *x509.CertPool // trusts the certificate
	Key, Certificate string         // PEM
}

// New makes an identity that is valid for an hour.
func New(t testing.TB) *Identity {
	t.Helper()
	return NewBetween(t, time.Time{}, time.Now().Add(time.Hour))
}

// NewBetween makes an identity that is valid from one moment to another.
func NewBetween(t testing.TB, from, to time.Time) *Identity {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: from, NotAfter: to,
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
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	text := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return &Identity{
		TLS: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, Pool: pool,
		Key: text("PRIVATE KEY", encoded), Certificate: text("CERTIFICATE", der),
	}
}
