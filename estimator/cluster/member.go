package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"millrace"
	"millrace/estimator/trainstep"
	"millrace/graph"
	"millrace/tfbridge"
)

// Options says how a process takes part. Nil and the zero value mean the defaults.
type Options struct {
	// Timeout is how long a process waits for another: at the start, and in each step. A
	// process that has waited for so long fails. 0: 10 minutes.
	Timeout time.Duration
	// Session holds the options of the process's session; nil: soft placement. Those about
	// the cluster are added.
	Session *tfbridge.SessionOptions
}

// Keys of the graphs with collective operations. Steps and comparisons are separate graphs,
// whose runs TensorFlow counts separately.
const (
	StepKey    = 1 // see steps.Options.CollectiveKey
	compareKey = 2 // and more
)

// Member is a process of a cluster whose server runs. It cannot leave the cluster before the
// process ends. A Member is safe for concurrent use, except that all processes must call
// Compare in the same order.
type Member struct {
	Spec
	options Options
	session *tfbridge.SessionOptions
	gathers atomic.Int64 // how often gather was called: each call is a separate collective instance
	board   *board       // what the processes of a training with parameter servers know of each other; nil without
}

// fewestThreads is how many operations a process of a cluster runs at once at least. With
// fewer, the operations that wait for other processes hold up those that compute.
const fewestThreads = 4

// Join starts the server of this process. The other processes need not run yet: the first
// step waits for them.
func Join(s *Spec, o *Options) (*Member, error) {
	m := &Member{Spec: *s}
	if o != nil {
		m.options = *o
	}
	m.options.Timeout = cmp.Or(m.options.Timeout, 10*time.Minute)
	session := tfbridge.SessionOptions{SoftPlacement: true}
	if m.options.Session != nil {
		session = *m.options.Session
	}
	server := &tfbridge.ServerOptions{Cluster: tfbridge.ClusterSpec{workerJob: s.Workers}, Job: workerJob, Task: s.Rank}
	session.InterOpThreads = max(session.InterOpThreads, fewestThreads)
	session.Timeout = m.options.Timeout
	if m.Async() {
		server.Cluster[serverJob] = s.Servers
	} else {
		session.CollectiveLeader = "/job:" + workerJob + "/replica:0/task:0"
	}
	if s.Server {
		server.Job = serverJob
	}
	session.DeviceFilters = []string{server.Device()}
	server.Session = &session
	started, err := tfbridge.NewServer(server)
	if err != nil {
		return nil, err
	}
	own := session
	own.Target = started.Target()
	if m.Async() && !s.Server {
		own.DeviceFilters = []string{server.Device(), "/job:" + serverJob}
	}
	m.session = &own
	if m.Async() {
		m.board, err = newBoard(s, m.session)
	}
	return m, err
}

// Session returns the options of sessions on this process's server.
func (m *Member) Session() *tfbridge.SessionOptions { return m.session }

// Async reports whether the processes train by parameter servers: each changes the variables
// whenever it has derivatives. Otherwise they make each step together.
func (m *Member) Async() bool { return len(m.Servers) > 0 }

// Replica returns what a step of training by all-reduce needs to know of the cluster; nil
// with parameter servers.
func (m *Member) Replica() *trainstep.Replica {
	if m.Async() {
		return nil
	}
	return &trainstep.Replica{Rank: m.Rank, Size: len(m.Workers), Timeout: m.options.Timeout}
}

// Compare waits until all processes have called it, and returns an error of class ErrConfig,
// the same one in each, unless all gave the same facts: values by what they are of, such as
// a digest of the config. A process that does not come in time is an error of class
// ErrCanceled.
func (m *Member) Compare(ctx context.Context, facts map[string]string) error {
	keys := slices.Sorted(maps.Keys(facts))
	hashes := []int64{hash(strings.Join(keys, "\x00"))}
	for _, key := range keys {
		hashes = append(hashes, hash(facts[key]))
	}
	all, err := m.gather(ctx, hashes[:1])
	if err != nil {
		return err
	}
	for rank, h := range all {
		if h[0] != all[0][0] {
			return millrace.Errorf(millrace.ErrConfig, "worker %d knows other facts of the training than worker 0: run the same version of the program with the same flags everywhere", rank)
		}
	}
	if all, err = m.gather(ctx, hashes); err != nil {
		return err
	}
	for rank, h := range all {
		var differ []string
		for i, key := range keys {
			if h[i+1] != all[0][i+1] {
				differ = append(differ, key)
			}
		}
		if differ != nil {
			return m.differs(rank, differ)
		}
	}
	return nil
}

// differs is the error about a process that would train something else.
func (m *Member) differs(rank int, keys []string) error {
	return millrace.Errorf(millrace.ErrConfig, "worker %d (%s) has another %s than worker 0 (%s): all processes of a training need the same config, data and program",
		rank, m.Workers[rank], strings.Join(keys, ", "), m.Workers[0])
}

// Failed reports whether an error of a run means that another process is gone, and is not of
// class ErrPeer yet. TensorFlow reports that in several ways, as it stops a run wherever it was.
func (m *Member) Failed(err error) bool {
	var failed *tfbridge.Error
	if !errors.As(err, &failed) || errors.Is(err, millrace.ErrPeer) {
		return false
	}
	switch failed.Code {
	case tfbridge.Cancelled, tfbridge.DeadlineExceeded, tfbridge.FailedPrecondition, tfbridge.Aborted, tfbridge.Internal, tfbridge.Unavailable:
		return true
	case tfbridge.NotFound:
		return m.Async() // a server that is back has none of its variables
	}
	return false
}

// hash returns 64 bits of the SHA-256 of a text.
func hash(text string) int64 {
	sum := sha256.Sum256([]byte(text))
	return int64(binary.LittleEndian.Uint64(sum[:8]))
}

// gather returns the values of all processes, by rank.
func (m *Member) gather(ctx context.Context, values []int64) ([][]int64, error) {
	s, instance := graph.NewScope(), m.gathers.Add(1)
	row := s.Const([][]int64{values})
	all := s.Op1("CollectiveGather", map[string]any{
		"group_size": int64(len(m.Workers)), "group_key": int64(2), "instance_key": instance, "shape": tfbridge.MakeShape(0),
		"communication_hint": "ring", "timeout_seconds": float32(m.options.Timeout.Seconds()),
	}, row)
	g, err := s.Finalize()
	if err != nil {
		return nil, err
	}
	defer g.Close()
	session, err := tfbridge.NewSession(g, m.session)
	if err != nil {
		return nil, m.waited(err)
	}
	defer session.Close()
	run, err := session.PrepareRun(nil, []tfbridge.Output{all}, nil, &tfbridge.RunOptions{CollectiveKey: compareKey + instance})
	if err != nil {
		return nil, err
	}
	out, err := run.Run(ctx, nil)
	if err != nil {
		return nil, m.waited(err)
	}
	defer out[0].Close()
	flat, err := tfbridge.View[int64](out[0])
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(slices.Clone(flat), len(values))), nil
}

// waited names the processes that an error about waiting may be of.
func (m *Member) waited(err error) error {
	return fmt.Errorf("%s waits for the others, %s: %w", &m.Spec, strings.Join(slices.Delete(slices.Clone(m.Workers), m.Rank, m.Rank+1), ", "), err)
}
