package tfbridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/internal/test/address"
)

// Two servers add what their tasks have.
func TestServers(t *testing.T) {
	addresses := address.OwnProcess(t, 3)
	if addresses == nil {
		return
	}
	cluster := ClusterSpec{"worker": addresses[:2]}
	options := func(o *ServerOptions) *SessionOptions {
		return &SessionOptions{CollectiveLeader: "/job:worker/replica:0/task:0", DeviceFilters: []string{o.Device()}}
	}
	var sessions []*SessionOptions
	for task := range 2 {
		o := &ServerOptions{Cluster: cluster, Job: "worker", Task: task}
		o.Session = options(o)
		server, err := NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		session := options(o)
		session.Target, session.Timeout = server.Target(), 20*time.Second
		sessions = append(sessions, session)
	}
	// TensorFlow's leader draws the number of the first step again if another task asks for it
	// between two of its locks (RpcCollectiveExecutorMgr). The tasks then wait for each other until
	// their time is over. That was seen once on a busy machine, so another key gets a try.
	err := sumsOfTasks(sessions, 0)
	if errors.Is(err, millrace.ErrCanceled) {
		err = sumsOfTasks(sessions, 1)
	}
	if err != nil {
		t.Error(err)
	}

	_, err = NewServer(&ServerOptions{Cluster: cluster, Job: "worker", Task: 1})
	if !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), addresses[1]) {
		t.Errorf("a port that is taken: %v", err)
	}

	alone := &ServerOptions{Cluster: ClusterSpec{"worker": {addresses[2], addresses[0]}}, Job: "worker", Task: 0}
	alone.Session = options(alone)
	server, err := NewServer(alone)
	if err != nil {
		t.Fatal(err)
	}
	session := options(alone)
	session.Target, session.Timeout = server.Target(), 200*time.Millisecond
	if _, err := sumOfTasks(session, 1, 4); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("a task that nobody started: %v", err)
	}
}

// sumsOfTasks adds values of both tasks in both tasks at a time.
func sumsOfTasks(sessions []*SessionOptions, key int64) error {
	var group errgroup.Group
	for task, session := range sessions {
		group.Go(func() error {
			got, err := sumOfTasks(session, float32(task+1), key)
			if err == nil && got != 3 {
				err = errors.New("the sum is wrong")
			}
			return err
		})
	}
	return group.Wait()
}

// sumOfTasks adds a value of each of two tasks.
func sumOfTasks(o *SessionOptions, value float32, key int64) (float32, error) {
	g := NewGraph()
	defer g.Close()
	c, err := NewTensor(value)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	constant, err := g.AddOperation(OpSpec{Type: "Const", Name: "value", Attrs: map[string]any{"dtype": Float, "value": c}})
	if err != nil {
		return 0, err
	}
	sum, err := g.AddOperation(OpSpec{Type: "CollectiveReduce", Name: "sum", Input: []Input{constant.Output(0)}, Attrs: map[string]any{
		"group_size": int64(2), "group_key": key + 1, "instance_key": key + 1, "merge_op": "Add", "final_op": "Id", "subdiv_offsets": []int64{0},
		"communication_hint": "ring",
	}})
	if err != nil {
		return 0, err
	}
	s, err := NewSession(g, o)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	run, err := s.PrepareRun(nil, []Output{sum.Output(0)}, nil, &RunOptions{CollectiveKey: 1 + key})
	if err != nil {
		return 0, err
	}
	out, err := run.Run(context.Background(), nil)
	if err != nil {
		return 0, err
	}
	defer out[0].Close()
	got, _ := out[0].Value().(float32)
	return got, nil
}

// Options that name no task of the cluster are refused before TensorFlow sees them.
func TestServerRefuses(t *testing.T) {
	two := ClusterSpec{"worker": {"a:1", "b:2"}}
	tests := map[string]*ServerOptions{
		"without a cluster":              nil,
		`no job "chief"; it has`:         {Cluster: two, Job: "chief"},
		"no task 2 of job \"worker\"":    {Cluster: two, Job: "worker", Task: 2},
		"no task -1":                     {Cluster: two, Job: "worker", Task: -1},
		"is not HOST:PORT":               {Cluster: ClusterSpec{"worker": {"a"}}, Job: "worker"},
		"with a port from 1 to 65535":    {Cluster: ClusterSpec{"worker": {"a:0"}}, Job: "worker"},
		"have the same address a:1":      {Cluster: ClusterSpec{"ps": {"a:1"}, "worker": {"a:1"}}, Job: "ps"},
		"a session with a timeout of -1": {Cluster: two, Job: "worker", Session: &SessionOptions{Timeout: -1}},
	}
	for want, o := range tests {
		if _, err := NewServer(o); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a config error with %q", err, want)
		}
	}
}
