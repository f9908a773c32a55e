package estimate

import (
	"slices"
	"strconv"
	"strings"
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
	c.Flags().StringVar(&f.task, "task", "", "which of the config's cluster this process is, as `worker:N`; default: what TF_CONFIG says")
	c.Flags().BoolVar(&f.trusted, "trusted-network", false, "train with other processes: whoever reaches this process's port can run code in it")
}

// taskPrefix begins the value of --task.
const taskPrefix = "worker:"

// rank returns the number of this process among those that train together. s is the content of
// TF_CONFIG, nil if that names no cluster.
func (f *clusterFlags) rank(s *cluster.Spec) (int, error) {
	switch {
	case f.task != "":
	case s == nil:
		return 0, nil
	default:
		return s.Rank, nil
	}
	text, ok := strings.CutPrefix(f.task, taskPrefix)
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 0 {
		return 0, millrace.Errorf(millrace.ErrConfig, "--task is %q; it is worker:N, where N is from 0", f.task)
	}
	return n, nil
}

// of returns the processes that train together, nil if this one trains alone. The
// config and s, the content of TF_CONFIG, may both say which they are, if they say the same.
func (f *clusterFlags) of(r *run.Run, s *cluster.Spec) (*cluster.Spec, error) {
	at := func(format string, args ...any) error {
		e := millrace.Errorf(millrace.ErrConfig, format, args...)
		e.File, e.Key = r.Path, "cluster"
		return e
	}
	if c := r.Config.Cluster; c != nil {
		rank, err := f.rank(s)
		switch {
		case err != nil:
			return nil, err
		case s != nil && (!slices.Equal(s.Workers, c.Worker) || rank != s.Rank):
			return nil, at("the config and TF_CONFIG contradict each other: %q, and this is %s; %q, and this is %s", c.Worker, taskPrefix+strconv.Itoa(rank), s.Workers, taskPrefix+strconv.Itoa(s.Rank))
		case s == nil && f.task == "":
			return nil, at("name the process that this is with --task worker:0 to worker:%d", len(c.Worker)-1)
		case rank >= len(c.Worker):
			return nil, at("--task is worker:%d, and there are %d workers, numbered from 0", rank, len(c.Worker))
		}
		if s = (&cluster.Spec{Workers: c.Worker, Rank: rank}); len(c.Worker) == 1 {
			s = nil
		}
	} else if rank, err := f.rank(s); err != nil {
		return nil, err
	} else if s != nil && rank != s.Rank {
		return nil, at("--task and TF_CONFIG contradict each other: this is %s, and this is %s", f.task, taskPrefix+strconv.Itoa(s.Rank))
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
