package dataservice

import (
	"context"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/figures"
	"millrace/internal/base/terminal"
	"millrace/loaders/service"
)

// state is what service status prints.
type state struct {
	Dispatcher string        `json:"dispatcher"`
	Protocol   int64         `json:"protocol"`
	Workers    []workerState `json:"workers"`
}

type workerState struct {
	Address string         `json:"address"`
	Tasks   []service.Task `json:"tasks"`
	Error   string         `json:"error,omitempty"` // why it does not answer
}

// serviceCommand returns the command service, which has the command status.
func serviceCommand(p *cli.Program) *cobra.Command {
	group := cli.Group(&cobra.Command{Use: "service", Short: "Look at a data service"})
	asJSON := false
	c := &cobra.Command{
		Use:   "status HOST:PORT",
		Short: "Print the workers of a data service, and what each does",
		Long: `Ask the dispatcher at HOST:PORT for its workers, and each worker for its tasks.
A task is a worker's part in one pass of a client over its data. A worker that
does not answer is listed with the reason.`,
		Example: `  millrace service status localhost:5050`,
		Args:    cli.Exactly("HOST:PORT"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkAddress("dispatcher", args[0]); err != nil {
				return err
			}
			s, err := stateOf(c.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return p.PrintJSON(s)
			}
			return s.print(p)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	group.AddCommand(c)
	return group
}

// stateOf asks all servers.
func stateOf(ctx context.Context, dispatcher string) (s *state, err error) {
	s = &state{Dispatcher: dispatcher, Workers: []workerState{}}
	if s.Protocol, err = service.Version(ctx, dispatcher); err != nil {
		return nil, err
	}
	addresses, err := service.Workers(ctx, dispatcher)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		w := workerState{Address: a, Tasks: []service.Task{}}
		tasks, err := service.Tasks(ctx, a)
		if err != nil {
			w.Error = err.Error()
		}
		w.Tasks = append(w.Tasks, tasks...)
		s.Workers = append(s.Workers, w)
	}
	return s, nil
}

// print writes a table.
func (s *state) print(p *cli.Program) error {
	if err := p.Printf("dispatcher %s, %s\n", s.Dispatcher, figures.Plural(int64(len(s.Workers)), "worker", "workers")); err != nil {
		return err
	}
	t := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, w := range s.Workers {
		does := "idle"
		if w.Error != "" {
			does = w.Error
		} else if len(w.Tasks) > 0 {
			does = figures.Plural(int64(len(w.Tasks)), "task", "tasks")
		}
		if _, err := t.Write([]byte("  " + terminal.Line(w.Address) + "\t" + terminal.Line(does) + "\n")); err != nil {
			return cli.StdoutError(err)
		}
	}
	return cli.StdoutError(t.Flush())
}
