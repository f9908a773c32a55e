package serve

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
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

// accessFlags are the flags that control who may send requests, by which ports, and how
// models share them.
type accessFlags struct {
	restTLS       string // file of an SSLConfig
	onePort       bool
	tokens        string // file
	certificates  bool
	settings      string // file
	maxQueueDelay time.Duration
	modelMemory   int64
}

// table returns the flags.
func (f *accessFlags) table() []flagRow {
	return []flagRow{
		{name: "rest-ssl-config-file", define: text(&f.restTLS, ""), usage: "`FILE` with an SSLConfig: HTTPS, with client certificates if it says so"},
		{name: "one-port", define: truth(&f.onePort, false), usage: "gRPC at the port of HTTP, and no other; with --rest-ssl-config-file both by TLS"},
		{name: "auth-tokens", define: text(&f.tokens, ""), usage: "`FILE` with a line \"IDENTITY TOKEN\" for each client: only requests with such a bearer token are answered"},
		{name: "auth-certificates", define: truth(&f.certificates, false), usage: "answer clients that show a certificate, which the SSLConfig's custom_ca has signed"},
		{name: "model-settings", define: text(&f.settings, ""), usage: "JSON `FILE` with settings by model: batching, shared inputs, canary weights, shadow, cache, sequences"},
		{name: "model-memory", define: size(&f.modelMemory, 0), usage: "load models when they are asked for, and unload those not asked for longest beyond this many `BYTES` (0: load all at once)"},
		{name: "max-queue-delay", define: duration(&f.maxQueueDelay, 0), usage: "refuse requests that would wait longer than this `TIME` for their batch (0: only those that would miss their deadline)"},
	}
}

// check refuses flags with impossible values, and those that have no effect without
// another.
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

// authenticator returns the authenticator of requests, nil if everybody may send them.
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

// access is the result of reading the flags.
type access struct {
	who     auth.Authenticator // nil: everybody
	restTLS *tls.Config        // nil: no TLS
}

// open reads the files that the flags name, and adds the settings of models to their
// configurations.
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
	if !onePort { // otherwise TLS ends at the port
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
