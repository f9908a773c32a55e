package serve

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/jsonpos"
	"millrace/internal/base/regularfile"
	"millrace/serving"
	"millrace/serving/auth"
	"millrace/serving/configfile"
	"millrace/serving/oneport"
	"millrace/serving/openapi"
	restapi "millrace/serving/rest"
	"millrace/serving/rpc"
)

// accessFlags are the flags that say who may ask, by which ports, and how models share them.
type accessFlags struct {
	restTLS       string // file of an SSLConfig
	onePort       bool
	tokens        string // file
	certificates  bool
	settings      string // file
	maxQueueDelay time.Duration
	modelMemory   int64
}

// add declares the flags.
func (f *accessFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.restTLS, "rest-ssl-config-file", "", "`FILE` with an SSLConfig: HTTPS, with client certificates if it says so")
	s.BoolVar(&f.onePort, "one-port", false, "gRPC at the port of HTTP, and no other; with --rest-ssl-config-file both by TLS")
	s.StringVar(&f.tokens, "auth-tokens", "", "`FILE` with a line \"IDENTITY TOKEN\" for each client: only requests with such a bearer token are answered")
	s.BoolVar(&f.certificates, "auth-certificates", false, "answer clients that show a certificate, which the SSLConfig's custom_ca has signed")
	s.StringVar(&f.settings, "model-settings", "", "JSON `FILE` with settings by model: batching, shared inputs, canary weights, shadow, cache")
	s.Int64Var(&f.modelMemory, "model-memory", 0, "load models when they are asked for, and unload those not asked for longest beyond this many `BYTES` (0: load all at once)")
	s.DurationVar(&f.maxQueueDelay, "max-queue-delay", 0, "refuse requests that would wait longer than this `TIME` for their batch (0: only those that would miss their deadline)")
}

// check refuses flags that cannot be, and those that mean nothing without another.
func (f *accessFlags) check(c *cobra.Command, restPort int, sslFile string, batching bool) error {
	switch {
	case f.onePort && restPort == 0:
		return cli.Usagef(c, "--one-port means nothing with --rest_api_port 0")
	case f.certificates && f.restTLS == "" && sslFile == "":
		return cli.Usagef(c, "--auth-certificates means nothing without --rest-ssl-config-file or --ssl_config_file")
	case f.maxQueueDelay != 0 && !batching:
		return cli.Usagef(c, "--max-queue-delay means nothing without --enable_batching")
	case f.maxQueueDelay < 0:
		return cli.Usagef(c, "--max-queue-delay %v: want a time such as 50ms", f.maxQueueDelay)
	case f.modelMemory < 0:
		return cli.Usagef(c, "--model-memory %d: want a number of bytes, or 0 for any number", f.modelMemory)
	}
	return nil
}

// authenticator returns who may ask, nil for everybody.
func (f *accessFlags) authenticator() (auth.Authenticator, error) {
	var all []auth.Authenticator
	if f.tokens != "" {
		identities, err := readTokens(f.tokens)
		if err != nil {
			return nil, err
		}
		all = append(all, auth.Tokens(identities))
	}
	if f.certificates {
		all = append(all, auth.Certificates())
	}
	if all == nil {
		return nil, nil
	}
	return auth.Any(all...), nil
}

// readTokens reads a file of identities and tokens.
func readTokens(path string) (map[string]string, error) {
	text, err := regularfile.ReadFile(path, jsonpos.MaxBytes)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrIO, "--auth-tokens: %w", err)
	}
	identities := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		wrong := ""
		switch {
		case len(fields) != 2:
			wrong = "want an identity and a token, separated by a space"
		case identities[fields[1]] != "":
			wrong = "the token is in the file twice"
		}
		if wrong != "" {
			e := millrace.Errorf(millrace.ErrConfig, "%s", wrong)
			e.File, e.Line = path, i+1
			return nil, e
		}
		identities[fields[1]] = fields[0]
	}
	if len(identities) == 0 {
		e := millrace.Errorf(millrace.ErrConfig, "the file has no tokens, so that nobody could ask")
		e.File = path
		return nil, e
	}
	return identities, nil
}

// access is what the flags give.
type access struct {
	who     auth.Authenticator // nil: everybody
	restTLS *tls.Config        // nil: no TLS
}

// open reads what the flags name, and the settings of models into their configurations.
func (f *accessFlags) open(configs []serving.ModelConfig) (a access, err error) {
	if a.who, err = f.authenticator(); err != nil {
		return a, err
	}
	if f.restTLS != "" {
		if a.restTLS, err = configfile.ReadTLS(f.restTLS); err != nil {
			return a, err
		}
	}
	if f.settings != "" {
		err = configfile.ReadSettings(f.settings, configs)
	}
	return a, err
}

// paths adds the document of OpenAPI to the pages of the server.
func (a *access) paths(other http.Handler, models *serving.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /openapi.json", openapi.NewHandler(models))
	mux.Handle("/", other)
	return mux
}

// rest completes the options of the HTTP server.
func (a *access) rest(o *restapi.ServerOptions, models *serving.Server, onePort bool) *restapi.ServerOptions {
	o.Authenticate, o.Other = a.who, a.paths(o.Other, models)
	o.Open = []string{"/healthz", "/readyz"}
	if !onePort { // else the port ends TLS
		o.TLS = a.restTLS
	}
	return o
}

// rpc completes the options of the gRPC server.
func (a *access) rpc(o *rpc.Options, onePort bool) *rpc.Options {
	if o.Authenticate = a.who; onePort {
		o.TLS = nil
		o.ServerOptions = append(o.ServerOptions, grpc.Creds(oneport.Credentials()))
	}
	return o
}

// split returns the listeners of gRPC and HTTP at one port.
func (a *access) split(l net.Listener) (toRPC, toREST net.Listener) {
	return oneport.Split(l, &oneport.Options{TLS: a.restTLS})
}
