package configfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"millrace"
	"millrace/internal/test/identity"
)

// A fault in the certificates of an SSLConfig is an error that names the file and the
// field, and a remedy.
func TestTLSFaults(t *testing.T) {
	hour, now := time.Hour, time.Now()
	own, other := identity.New(t), identity.New(t)
	expired, early := identity.NewBetween(t, now.Add(-2*hour), now.Add(-hour)), identity.NewBetween(t, now.Add(hour), now.Add(2*hour))
	encrypted := "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n"
	damaged := strings.Replace(own.Certificate, "MII", "MIA", 1)
	for _, tt := range []struct {
		name, key, certificate, ca string
		want                       string // "": no error
	}{
		{"sound", own.Key, own.Certificate, own.Certificate, ""},
		{"a bundle with an old authority", own.Key, own.Certificate, expired.Certificate + own.Certificate + early.Certificate, ""},
		{"expired", expired.Key, expired.Certificate, "", "server_cert: the certificate of localhost expired at " + moment(now.Add(-hour)) + ": renew it"},
		{"not yet", early.Key, early.Certificate, "", "server_cert: the certificate of localhost is valid from " + moment(now.Add(hour)) + ": check the clock"},
		{"a path for the certificate", own.Key, "/etc/ssl/me.pem", "", "server_cert is /etc/ssl/me.pem, which looks like a path: write the text of that file"},
		{"a path for the key", "me.key", own.Certificate, "", "server_key is me.key, which looks like a path"},
		{"no certificate", own.Key, "", "", "server_cert is missing"},
		{"no key", "", own.Certificate, "", "server_key is missing"},
		{"another's key", other.Key, own.Certificate, "", "does not match"},
		{"a key for a certificate", own.Key, own.Key, "", "server_cert holds no certificate in PEM form"},
		{"an encrypted key", encrypted, own.Certificate, "", "server_key is encrypted"},
		{"a damaged certificate", own.Key, damaged, "", "server_cert: certificate 1: x509"},
		{"an expired authority", own.Key, own.Certificate, expired.Certificate, "custom_ca: the certificate of localhost expired"},
		{"a damaged authority", own.Key, own.Certificate, own.Certificate + damaged, "custom_ca: certificate 2: x509"},
		{"text for an authority", own.Key, own.Certificate, "trust me\n", "custom_ca holds no certificate"},
	} {
		path := file(t, fmt.Sprintf("server_key: %q server_cert: %q custom_ca: %q client_verify: %v", tt.key, tt.certificate, tt.ca, tt.ca != ""))
		_, err := ReadTLS(path)
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	if err := os.WriteFile(locked, nil, 0); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{filepath.Join(dir, "missing"): "no such file", dir: dir + ": not a regular file but a directory", locked: "permission denied"} {
		if path == locked && os.Geteuid() == 0 {
			continue // root may read it
		}
		if _, err := ReadTLS(path); !errors.Is(err, millrace.ErrIO) || !strings.HasPrefix(err.Error(), path+": ") || strings.Count(err.Error(), path) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
