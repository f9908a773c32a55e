package serve

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/serving/configfile"
)

// probeTime is how long a probe waits for its answer.
const probeTime = 5 * time.Second

// probe asks a server whether it is ready. If no flag gives the server's address, and
// the first process of the container is this program, probe asks that process, by its
// own flags. So the health check of an image need not know the flags.
func (p *program) probe(c *cobra.Command, f *serveFlags) error {
	where := []string{"host", "port", "rest_api_port", "grpc_socket_path"}
	if !slices.ContainsFunc(where, c.Flags().Changed) {
		switch first, ours := firstProcess(); {
		case ours && first == nil:
			return p.Printf("the first process serves no models\n")
		case ours:
			f = first
		}
	}
	ctx, cancel := context.WithTimeout(c.Context(), probeTime)
	defer cancel()
	if f.restPort > 0 {
		return p.probeHTTP(ctx, net.JoinHostPort(f.reachable(), strconv.Itoa(f.restPort)))
	}
	address := "unix:" + f.socket
	if f.port > 0 {
		address = net.JoinHostPort(f.reachable(), strconv.Itoa(f.port))
	}
	return p.probeRPC(ctx, f, address)
}

// reachable returns a host by which a server that listens at --host is reached.
func (f *serveFlags) reachable() string {
	switch f.host {
	case "0.0.0.0", "localhost", "": // a container may not know localhost
		return "127.0.0.1"
	case "::":
		return "::1"
	}
	return f.host
}

// probeHTTP asks /readyz.
func (p *program) probeHTTP(ctx context.Context, address string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+readyPath, nil)
	if err != nil {
		return err
	}
	a, err := (&http.Client{Transport: &http.Transport{Proxy: nil}}).Do(q)
	if err != nil {
		return millrace.Errorf(millrace.ErrIO, "probe %s: %w", address, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, 64<<10))
	said := strings.TrimSpace(string(text))
	if err != nil || a.StatusCode != http.StatusOK {
		return millrace.Errorf(millrace.ErrIO, "probe %s: status %d: %s", address, a.StatusCode, millrace.Quote(said))
	}
	return p.Printf("%s\n", said)
}

// probeRPC asks gRPC's health service. It does not check the certificate of a server
// with TLS, because it sends nothing secret.
func (p *program) probeRPC(ctx context.Context, f *serveFlags, address string) error {
	secure := insecure.NewCredentials()
	if f.sslFile != "" {
		config, err := configfile.ReadTLS(f.sslFile)
		if err != nil {
			return err
		}
		config.InsecureSkipVerify = true // for mutual TLS it shows the server's own certificate
		secure = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(secure), grpc.WithNoProxy())
	if err != nil {
		return millrace.Errorf(millrace.ErrIO, "probe %s: %w", address, err)
	}
	defer conn.Close()
	a, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return millrace.Errorf(millrace.ErrIO, "probe %s: %w", address, err)
	}
	if a.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return millrace.Errorf(millrace.ErrIO, "probe %s: %v", address, a.GetStatus())
	}
	return p.Printf("ok\n")
}

// firstProcess returns the flags of the first process if that is this program running
// serve, and nil otherwise.
func firstProcess() (f *serveFlags, ours bool) {
	own, err := os.Stat("/proc/self/exe")
	if err != nil || os.Getpid() == 1 {
		return nil, false
	}
	first, err := os.Stat("/proc/1/exe")
	if err != nil || !os.SameFile(own, first) {
		return nil, false
	}
	line, err := firstLine()
	if err != nil {
		return nil, false
	}
	return flagsOf(strings.Split(string(bytes.TrimSuffix(line, []byte{0})), "\x00")), true
}

// firstLine returns the command line of the first process. Package regularfile refuses
// all files that the kernel generates.
func firstLine() ([]byte, error) {
	f, err := os.OpenFile("/proc/1/cmdline", os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, regularfile.TextBytes))
}

// flagsOf returns the flags of serve on a command line, nil if the command is another
// one.
func flagsOf(line []string) *serveFlags {
	args := Arguments(line, os.Getenv)
	at := slices.Index(args, "serve")
	if at < 0 {
		return nil
	}
	var f serveFlags
	c := &cobra.Command{}
	f.add(c)
	c.Flags().ParseErrorsAllowlist.UnknownFlags = true // flags of the program
	if err := c.Flags().Parse(args[at+1:]); err != nil {
		return nil
	}
	f.host = cmp.Or(f.host, "localhost")
	return &f
}
