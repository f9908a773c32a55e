package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"millrace"
)

// Variable is the environment variable from which Keras and TensorFlow take the cluster.
const Variable = "TF_CONFIG"

// Spec says which processes train together, and which of them this one is.
type Spec struct {
	Workers []string // addresses HOST:PORT of all processes that compute, by rank
	Servers []string // addresses HOST:PORT of parameter servers; none: the workers train by all-reduce
	Rank    int      // the number of this process in its list, from 0; worker 0 writes the checkpoints
	Server  bool     // this process is one of Servers
}

// Jobs of a cluster, as TensorFlow names them.
const (
	workerJob = "worker"
	serverJob = "ps"
	chiefJob  = "chief"

	evaluatorJob = "evaluator"
)

// config is the content of TF_CONFIG.
type config struct {
	Cluster map[string][]string `json:"cluster"`
	Task    struct {
		Type  string          `json:"type"`
		Index json.RawMessage `json:"index"` // a number, or as some schedulers write it, a string
	} `json:"task"`
}

// Parse reads the value of TF_CONFIG:
//
//	{"cluster": {"worker": ["host:port", …]}, "task": {"type": "worker", "index": 0}}
//
// A chief, if there is one, has rank 0, and the workers come after it. With a job "ps" they
// train by parameter servers. The task of an evaluator is an error that names the command for
// it. A value without a cluster, or with one process, gives nil.
func Parse(value string) (*Spec, error) {
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	var c config
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		return nil, errorf("it is not JSON of the form {\"cluster\": {\"worker\": [\"host:port\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}: %v", err)
	}
	if len(c.Cluster) == 0 {
		return nil, nil
	}
	if c.Task.Type == evaluatorJob {
		return nil, errorf("this process is an evaluator, which takes no part in the cluster: run millrace evaluate RUN.json --dir RUN_DIR --watch in its place")
	}
	for _, job := range slices.Sorted(maps.Keys(c.Cluster)) {
		if job != chiefJob && job != evaluatorJob && job != workerJob && job != serverJob {
			return nil, errorf("the cluster has a job %q; chief and worker train together, and ps holds their variables", job)
		}
	}
	if n := len(c.Cluster[chiefJob]); n > 1 {
		return nil, errorf("the cluster has %d chiefs; there is one at most", n)
	}
	index, err := strconv.Atoi(strings.Trim(string(c.Task.Index), `"`))
	if err != nil {
		return nil, errorf("the task's index is %s, not a number", c.Task.Index)
	}
	s := &Spec{Workers: slices.Concat(c.Cluster[chiefJob], c.Cluster[workerJob]), Servers: c.Cluster[serverJob], Rank: index}
	if len(s.Workers) == 0 {
		return nil, errorf("the cluster has no worker")
	}
	job, ok := c.Cluster[c.Task.Type]
	if !ok || index < 0 || index >= len(job) {
		return nil, errorf("the task is %s:%d, and the cluster has no such task", c.Task.Type, index)
	}
	switch c.Task.Type {
	case workerJob:
		s.Rank += len(c.Cluster[chiefJob])
	case serverJob:
		s.Server = true
	}
	if s.Alone() {
		return nil, nil
	}
	return s, nil
}

// errorf is an error about TF_CONFIG.
func errorf(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrConfig, Variable+": "+format, args...)
}

// ParseTask reads the value of --task: "worker:N" or "ps:N".
func ParseTask(text string) (rank int, server bool, err error) {
	job, number, ok := strings.Cut(text, ":")
	n, failed := strconv.Atoi(number)
	if !ok || failed != nil || n < 0 || job != workerJob && job != serverJob {
		return 0, false, millrace.Errorf(millrace.ErrConfig, "--task is %q; it is worker:N or ps:N, where N is from 0", text)
	}
	return n, job == serverJob, nil
}

// Alone reports whether the cluster is one process, which needs no server.
func (s *Spec) Alone() bool { return len(s.Workers) == 1 && len(s.Servers) == 0 }

// Same reports whether two specs say the same.
func (s *Spec) Same(o *Spec) bool {
	return slices.Equal(s.Workers, o.Workers) && slices.Equal(s.Servers, o.Servers) && s.Rank == o.Rank && s.Server == o.Server
}

// Task returns this process as --task names it: "worker:1".
func (s *Spec) Task() string {
	if s.Server {
		return serverJob + ":" + strconv.Itoa(s.Rank)
	}
	return workerJob + ":" + strconv.Itoa(s.Rank)
}

// Check refuses a rank that the cluster does not have.
func (s *Spec) Check() error {
	list, kind := s.Workers, "workers"
	if s.Server {
		list, kind = s.Servers, "parameter servers"
	}
	if s.Rank >= len(list) {
		return millrace.Errorf(millrace.ErrConfig, "--task is %s, and there are %d %s, numbered from 0", s.Task(), len(list), kind)
	}
	return nil
}

// address returns the address of this process.
func (s *Spec) address() string {
	if s.Server {
		return s.Servers[s.Rank]
	}
	return s.Workers[s.Rank]
}

// Port returns the port that this process listens at, 0 if its address has none.
func (s *Spec) Port() uint16 {
	_, port, _ := net.SplitHostPort(s.address())
	n, _ := strconv.ParseUint(port, 10, 16)
	return uint16(n)
}

// String returns the spec for a message: "worker 1 of 2 at host:port".
func (s *Spec) String() string {
	if s.Server {
		return fmt.Sprintf("parameter server %d of %d at %s", s.Rank, len(s.Servers), s.address())
	}
	return fmt.Sprintf("worker %d of %d at %s", s.Rank, len(s.Workers), s.address())
}
