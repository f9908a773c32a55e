package configfile

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	"millrace"
	"millrace/internal/base/servingproto"
)

// ReadTLS reads an SSLConfig, which holds key and certificates: --ssl_config_file. A
// certificate that is expired or not yet valid is an error of class millrace.ErrConfig.
func ReadTLS(path string) (*tls.Config, error) {
	var c servingproto.SSLConfig
	if err := read(path, &c); err != nil {
		return nil, err
	}
	config, err := tlsConfig(&c, time.Now())
	return config, withFile(path, err)
}

// tlsConfig returns the configuration of a server.
func tlsConfig(c *servingproto.SSLConfig, now time.Time) (*tls.Config, error) {
	chain, err := certificates("server_cert", c.GetServerCert())
	if err != nil {
		return nil, err
	}
	if err := checkValid("server_cert", chain[0], now); err != nil {
		return nil, err
	}
	if !strings.Contains(c.GetServerKey(), "-----BEGIN ") {
		return nil, notPEM("server_key", "private key", c.GetServerKey())
	}
	if strings.Contains(c.GetServerKey(), "ENCRYPTED") {
		return nil, millrace.Errorf(millrace.ErrConfig, "server_key is encrypted: write it without a password, for example by openssl pkey -in KEY -out PLAIN_KEY")
	}
	own, err := tls.X509KeyPair([]byte(c.GetServerCert()), []byte(c.GetServerKey()))
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrConfig, "server_cert and server_key: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	if c.GetCustomCa() != "" {
		if config.ClientCAs, err = authorities(c.GetCustomCa(), now); err != nil {
			return nil, err
		}
	}
	if c.GetClientVerify() {
		if config.ClientCAs == nil {
			return nil, millrace.Errorf(millrace.ErrConfig, "client_verify needs custom_ca, whose certificates sign those of clients")
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// certificates returns the certificates in a text, at least one.
func certificates(field, text string) (list []*x509.Certificate, err error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrConfig, "%s: certificate %d: %w", field, len(list)+1, err)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, notPEM(field, "certificate", text)
	}
	return list, nil
}

// authorities returns the authorities that sign the certificates of clients. Some
// certificates of a bundle may have expired.
func authorities(text string, now time.Time) (*x509.CertPool, error) {
	const field = "custom_ca"
	list, err := certificates(field, text)
	if err != nil {
		return nil, err
	}
	pool, valid := x509.NewCertPool(), 0
	for _, c := range list {
		pool.AddCert(c)
		if err = checkValid(field, c, now); err == nil {
			valid++
		}
	}
	if valid > 0 {
		err = nil
	}
	return pool, err
}

// checkValid returns an error if a certificate has expired, or is not valid yet.
func checkValid(field string, c *x509.Certificate, now time.Time) error {
	name := millrace.Quote(c.Subject.String())
	if len(c.DNSNames) > 0 {
		name = millrace.Quote(c.DNSNames[0])
	}
	switch {
	case now.After(c.NotAfter):
		return millrace.Errorf(millrace.ErrConfig, "%s: the certificate of %s expired at %s: renew it (the clock of this machine says %s)", field, name, moment(c.NotAfter), moment(now))
	case now.Before(c.NotBefore):
		return millrace.Errorf(millrace.ErrConfig, "%s: the certificate of %s is valid from %s: check the clock of this machine, which says %s", field, name, moment(c.NotBefore), moment(now))
	}
	return nil
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// notPEM explains that a field must contain PEM. A frequent mistake is to write the
// path of a file instead.
func notPEM(field, what, text string) error {
	switch {
	case text == "":
		return millrace.Errorf(millrace.ErrConfig, "%s is missing: it holds the %s in PEM form", field, what)
	case !strings.Contains(text, "\n") && strings.ContainsAny(text, "/."):
		return millrace.Errorf(millrace.ErrConfig, "%s is %s, which looks like a path: write the text of that file there, from -----BEGIN to -----END", field, millrace.Quote(text))
	}
	return millrace.Errorf(millrace.ErrConfig, "%s holds no %s in PEM form, which begins with -----BEGIN", field, what)
}
