package dataservice

import (
	"cmp"
	"context"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/loaders/service"
	"millrace/sandbox"
	"millrace/tfbridge"
)

// quiet is how long a worker that stops still answers the requests it has.
const quiet = 500 * time.Millisecond

// askEvery is how long a worker waits before it asks for the dispatcher once more.
const askEvery = 500 * time.Millisecond

// workerCommand returns the command worker.
func workerCommand(p *cli.Program) *cobra.Command {
	s := &server{Program: p, name: "worker"}
	var dispatcher, host string
	var data []string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "worker --dispatcher HOST:PORT --data PATH --trusted-network",
		Short: "Start a worker of a data service",
		Long: `Start a worker of TensorFlow's data service. It registers with a dispatcher
(millrace dispatcher), and reads and processes data for its clients: by the same
paths as they, so the files must be there under the same names. --data names
what the sandbox lets it read.

The server listens on every interface, without encryption or authentication, and
whoever reaches the port can run code in it. --trusted-network says that nobody
else reaches it; without it the command refuses to start. The command runs until
SIGTERM or SIGINT: then it answers the requests that it has and ends. Clients
read what it did not deliver from others, or themselves.`,
		Example: `  millrace worker --dispatcher 10.0.0.1:5050 --data /data --trusted-network
  millrace worker --dispatcher disp:5050 --host $POD_IP --data /data --trusted-network`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dispatcher == "" {
				return cli.Usagef(c, "worker needs --dispatcher HOST:PORT")
			}
			if err := checkAddress("dispatcher", dispatcher); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			if err := s.await(c.Context(), dispatcher, timeout); err != nil {
				return err
			}
			if host == "" {
				name, err := os.Hostname()
				if err != nil {
					return millrace.Errorf(millrace.ErrIO, "find this machine's name: %w; give --host", err)
				}
				host = cmp.Or(name, "localhost")
			}
			o := &tfbridge.WorkerOptions{
				Port: s.port, Dispatcher: dispatcher, Address: net.JoinHostPort(host, strconv.Itoa(s.port)),
				Heartbeat: time.Second, DispatcherTimeout: time.Minute, QuietPeriod: quiet,
			}
			start := func() (*tfbridge.DataServer, error) { return tfbridge.NewWorkerServer(o) }
			return s.run(c.Context(), &sandbox.Policy{Read: cli.Folders(data...)}, start, "tasks", "")
		},
	}
	s.add(c, workerPort)
	c.Flags().StringVar(&dispatcher, "dispatcher", "", "register with the dispatcher at `HOST:PORT`")
	c.Flags().StringVar(&host, "host", "", "the `HOST` by which clients and the dispatcher reach this machine (default its name)")
	c.Flags().DurationVar(&timeout, "dispatcher-timeout", time.Minute, "wait so `LONG` for the dispatcher to answer")
	c.Flags().StringArrayVar(&data, "data", nil, "a file or folder `PATH` of data to read; may be repeated")
	return c
}

// await waits until the dispatcher answers.
func (s *server) await(ctx context.Context, dispatcher string, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for said := false; ; said = true {
		_, err := service.Version(ctx, dispatcher)
		if err == nil || ctx.Err() != nil || !time.Now().Before(deadline) {
			return err
		}
		if !said {
			s.Note("waiting for the dispatcher: %v", err)
		}
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
		}
	}
}
