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
	Workers []string // addresses HOST:PORT of all processes, by rank
	Rank    int      // the number of this process, from 0; rank 0 writes the checkpoints
}

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
// A chief, if there is one, has rank 0, and the workers come after it. Parameter servers
// and evaluators are refused. A value without a cluster, or with one process, gives nil.
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
	for _, job := range slices.Sorted(maps.Keys(c.Cluster)) {
		if job != "chief" && job != "worker" {
			return nil, errorf("the cluster has a job %q; only chief and worker train together by all-reduce", job)
		}
	}
	if n := len(c.Cluster["chief"]); n > 1 {
		return nil, errorf("the cluster has %d chiefs; there is one at most", n)
	}
	index, err := strconv.Atoi(strings.Trim(string(c.Task.Index), `"`))
	if err != nil {
		return nil, errorf("the task's index is %s, not a number", c.Task.Index)
	}
	s := &Spec{Workers: slices.Concat(c.Cluster["chief"], c.Cluster["worker"]), Rank: index}
	job, ok := c.Cluster[c.Task.Type]
	if !ok || index < 0 || index >= len(job) {
		return nil, errorf("the task is %s:%d, and the cluster has no such task", c.Task.Type, index)
	}
	if c.Task.Type == "worker" {
		s.Rank += len(c.Cluster["chief"])
	}
	if len(s.Workers) == 1 {
		return nil, nil
	}
	return s, nil
}

// errorf is an error about TF_CONFIG.
func errorf(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrConfig, Variable+": "+format, args...)
}

// Port returns the port that this process listens at, 0 if its address has none.
func (s *Spec) Port() uint16 {
	_, port, _ := net.SplitHostPort(s.Workers[s.Rank])
	n, _ := strconv.ParseUint(port, 10, 16)
	return uint16(n)
}

// String returns the spec for a message: "worker 1 of 2 at host:port".
func (s *Spec) String() string {
	return fmt.Sprintf("worker %d of %d at %s", s.Rank, len(s.Workers), s.Workers[s.Rank])
}
