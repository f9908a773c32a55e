package dataservice

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/sandbox"
	"millrace/tfbridge"
)

// defaultPort is where a dispatcher listens, workerPort where a worker does.
const defaultPort, workerPort = 5050, 5051

// dispatcherCommand returns the command dispatcher.
func dispatcherCommand(p *cli.Program) *cobra.Command {
	s := &server{Program: p, name: "dispatcher"}
	var dir string
	var clients, workers time.Duration
	c := &cobra.Command{
		Use:   "dispatcher --work-dir DIR --trusted-network",
		Short: "Start the dispatcher of a data service",
		Long: `Start the dispatcher of TensorFlow's data service. Workers (millrace worker)
register with it. Loaders whose config names it ("service") have their data read
and processed by the workers.

The journal in --work-dir lets a dispatcher that was ended start again where it
was: jobs that run continue.

The server listens on every interface, without encryption or authentication, and
whoever reaches the port can have the workers run code. --trusted-network says
that nobody else reaches it; without it the command refuses to start. The
command runs until SIGTERM or SIGINT. docs/scale.md describes the service.`,
		Example: `  millrace dispatcher --work-dir /var/lib/millrace --trusted-network
  millrace dispatcher --port 5060 --work-dir work --trusted-network --metrics-port 9090`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dir == "" {
				return cli.Usagef(c, "dispatcher needs --work-dir DIR, the folder of its journal")
			}
			if err := s.check(); err != nil {
				return err
			}
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return millrace.Errorf(millrace.ErrIO, "make the folder of the journal: %w", err)
			}
			journal, err := filepath.Abs(dir)
			if err != nil {
				return millrace.Errorf(millrace.ErrIO, "%w", err)
			}
			o := &tfbridge.DispatcherOptions{Port: s.port, WorkDir: journal, ClientTimeout: clients, WorkerTimeout: workers, GCTimeout: clients}
			start := func() (*tfbridge.DataServer, error) { return tfbridge.NewDispatchServer(o) }
			return s.run(c.Context(), &sandbox.Policy{Write: []string{dir}}, start, "workers", "iterations")
		},
	}
	s.add(c, defaultPort)
	c.Flags().StringVar(&dir, "work-dir", "", "keep the journal in `DIR`, which is made if it is missing")
	c.Flags().DurationVar(&clients, "client-timeout", 2*time.Minute, "end a job whose clients were silent for so `LONG`")
	c.Flags().DurationVar(&workers, "worker-timeout", 20*time.Second, "take a worker for dead that was silent for so `LONG`")
	return c
}
