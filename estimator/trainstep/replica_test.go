package trainstep_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/estimator/trainstep"
	"millrace/graph"
	"millrace/internal/test/address"
	"millrace/tfbridge"
)

// Processes that share batches make the steps of one with whole batches.
func TestReplicas(t *testing.T) {
	addresses := address.OwnProcess(t, 3)
	if addresses == nil {
		return
	}
	for name, rows := range map[string]int{"equal parts": 6, "unequal parts": 5, "a part without rows": 2} {
		want, err := trainRows(t.Context(), rows, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		const size = 3
		servers := replicaServers(t, addresses)
		got := make([][]float32, size)
		var group errgroup.Group
		for rank := range size {
			group.Go(func() (err error) {
				got[rank], err = trainRows(t.Context(), rows, servers[rank], &trainstep.Replica{Rank: rank, Size: size, Timeout: time.Minute})
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for rank := range size {
			if !slices.Equal(got[rank], got[0]) {
				t.Errorf("%s: process %d has %v, process 0 has %v", name, rank, got[rank], got[0])
			}
		}
		for i := range want {
			if math.Abs(float64(got[0][i]-want[i])) > 1e-5*math.Max(1, math.Abs(float64(want[i]))) {
				t.Errorf("%s: three processes end with %v, one with %v", name, got[0], want)
				break
			}
		}
	}
}

var started []*tfbridge.SessionOptions

// replicaServers starts a server for each address, once, and returns the options of
// sessions on them.
func replicaServers(t *testing.T, addresses []string) []*tfbridge.SessionOptions {
	if started != nil {
		return started
	}
	for task := range addresses {
		o := &tfbridge.ServerOptions{Cluster: tfbridge.ClusterSpec{"worker": addresses}, Job: "worker", Task: task}
		o.Session = &tfbridge.SessionOptions{
			CollectiveLeader: "/job:worker/replica:0/task:0", DeviceFilters: []string{o.Device()}, InterOpThreads: 4, Timeout: time.Minute,
		}
		server, err := tfbridge.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		session := *o.Session
		session.Target = server.Target()
		started = append(started, &session)
	}
	return started
}

// trainRows trains the linear model on batches of rows and returns its variables and the last
// loss.
func trainRows(ctx context.Context, rows int, session *tfbridge.SessionOptions, replica *trainstep.Replica) ([]float32, error) {
	m, err := graph.LoadModel(linear, &graph.ModelOptions{Session: session})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	s := graph.NewScopeWithGraph(m.Graph()).SubScope("train")
	sig := m.Signatures()[graph.DefaultSignature]
	var x, y [][]float32
	for i := range rows {
		v := float32(i + 1)
		x, y = append(x, []float32{v, 1 / v, v * v / 8}), append(y, []float32{v - 2, 3 / v})
	}
	adam := optimizer.NewAdam()
	adam.LearningRate = optimizer.Constant(0.1)
	step := trainstep.Add(s, &trainstep.Options{
		Feeds:     map[string]tfbridge.Output{sig.Inputs["x"].Name: graph.Identity(s, s.Const(x))},
		Outputs:   map[string]string{"y": sig.Outputs["y"].Name},
		Labels:    graph.Identity(s, s.Const(y)),
		Loss:      &losses.Loss{Type: losses.MeanSquaredError},
		Optimizer: adam, ClipNorm: 1, L2: 0.01, Replica: replica,
	})
	if step == nil {
		return nil, s.Err()
	}
	run, err := m.Session().PrepareRun(nil, []tfbridge.Output{step.Loss}, []*tfbridge.Operation{step.Op}, &tfbridge.RunOptions{CollectiveKey: 1})
	if err == nil {
		_, err = m.Session().Run(nil, nil, []*tfbridge.Operation{step.Reset})
	}
	if err != nil {
		return nil, err
	}
	var values []float32
	collect := func(tensors []*tfbridge.Tensor) error {
		for _, v := range tensors {
			x, err := tfbridge.View[float32](v)
			if err != nil {
				return err
			}
			values = append(values, x...)
			v.Close()
		}
		return nil
	}
	for range 20 {
		values = nil
		out, err := run.Run(ctx, nil)
		if err == nil {
			err = collect(out)
		}
		if err != nil {
			return nil, err
		}
	}
	var reads []tfbridge.Output
	for _, v := range step.Variables {
		reads = append(reads, s.Op1("ReadVariableOp", map[string]any{"dtype": v.DType}, v.Handle))
	}
	out, err := m.Session().Run(nil, reads, nil)
	if err != nil {
		return nil, err
	}
	return values, collect(out)
}

// A replica that cannot be is refused.
func TestReplicaRefuses(t *testing.T) {
	for _, r := range []trainstep.Replica{{Rank: 2, Size: 2}, {Rank: -1, Size: 2}, {Size: 0}, {Size: 2, Timeout: -1}} {
		_, s, o := prepare(t)
		o.Replica = &r
		if step := trainstep.Add(s, o); step != nil || !errors.Is(s.Err(), millrace.ErrConfig) {
			t.Errorf("%+v: %v", r, s.Err())
		}
	}
}
