package estimate

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/estimator/cluster"
	"millrace/estimator/run"
)

// clusterFlags are the flags about several processes.
type clusterFlags struct {
	task    string
	trusted bool
}

// add adds the flags to a command.
func (f *clusterFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.task, "task", "", "which of the config's cluster this process is, as `worker:N` or ps:N; default: what TF_CONFIG says")
	c.Flags().BoolVar(&f.trusted, "trusted-network", false, "train with other processes: whoever reaches this process's port can run code in it")
}

// parsed returns the number of this process among those that train together, and whether it is a
// parameter server. s is the content of TF_CONFIG, nil if that names no cluster.
func (f *clusterFlags) parsed(s *cluster.Spec) (rank int, server bool, err error) {
	switch {
	case f.task != "":
		return cluster.ParseTask(f.task)
	case s == nil:
		return 0, false, nil
	}
	return s.Rank, s.Server, nil
}

// of returns the processes that train together, nil if this one trains alone. The
// config and s, the content of TF_CONFIG, may both say which they are, if they say the same.
func (f *clusterFlags) of(r *run.Run, s *cluster.Spec) (*cluster.Spec, error) {
	at := func(format string, args ...any) error {
		e := millrace.Errorf(millrace.ErrConfig, format, args...)
		e.File, e.Key = r.Path, "cluster"
		return e
	}
	rank, server, err := f.parsed(s)
	if err != nil {
		return nil, err
	}
	own := &cluster.Spec{Rank: rank, Server: server}
	if c := r.Config.Cluster; c != nil {
		own.Workers, own.Servers = c.Worker, c.PS
		switch {
		case s != nil && !s.Same(own):
			return nil, at("the config and TF_CONFIG contradict each other: worker %q, ps %q, and this is %s; worker %q, ps %q, and this is %s", c.Worker, c.PS, own.Task(), s.Workers, s.Servers, s.Task())
		case s == nil && f.task == "":
			return nil, at("name the process that this is with --task worker:0 to worker:%d%s", len(c.Worker)-1, serverTasks(c.PS))
		}
		if err := own.Check(); err != nil {
			return nil, at("%w", err)
		}
		if s = own; s.Alone() {
			s = nil
		}
	} else if s != nil && (rank != s.Rank || server != s.Server) {
		return nil, at("--task and TF_CONFIG contradict each other: this is %s, and this is %s", f.task, s.Task())
	} else if f.task != "" && s == nil {
		return nil, at("--task is %s, and there is no cluster: neither the config nor TF_CONFIG names one", f.task)
	}
	if s == nil {
		return nil, nil
	}
	switch {
	case !r.TrainPlan.SeedGiven:
		return nil, at("processes that train together need the same random choices; give the config a seed")
	case !f.trusted:
		return nil, at("%s would listen on every interface, without encryption or authentication, and run what anybody sends; close the ports to all but the cluster's machines and add --trusted-network", s)
	}
	return s, nil
}

// serverTasks returns what --task may be besides a worker.
func serverTasks(servers []string) string {
	if len(servers) == 0 {
		return ""
	}
	return fmt.Sprintf(", or ps:0 to ps:%d", len(servers)-1)
}

// joinCluster starts the server of this process, and returns nil if it trains alone.
func joinCluster(r *run.Run, s *cluster.Spec) (*cluster.Member, error) {
	if s == nil {
		return nil, nil
	}
	o := &cluster.Options{}
	if c := r.Config.Cluster; c != nil {
		o.Timeout = time.Duration(c.Timeout * float64(time.Second))
	}
	return cluster.Join(s, o)
}
