package main

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/address"
	"millrace/internal/test/fixture"
	"millrace/internal/test/soak"
	"millrace/loaders"
)

// patience is the deadline of a run with faults. A run of these tests takes a second or two.
const patience = 5 * time.Minute

// cluster is a data service that faults befall.
type cluster struct {
	t       *testing.T
	dir     string
	at      []string // addresses: dispatcher, workers, proxies
	servers [3]*started
	network *proxy // before worker 1; nil: none
}

// newCluster starts a dispatcher and two workers. With a delay, or by a network, clients reach
// worker 1 by a proxy.
func newCluster(t *testing.T, network bool, delay time.Duration) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), at: address.Free(t, 3)}
	if network {
		c.network = startProxy(t, otherHost+":"+port(c.at[1]), "127.0.0.1:"+port(c.at[1]), delay)
	}
	for i := range c.servers {
		c.start(i)
	}
	return c
}

// start starts server i: the dispatcher, or a worker.
func (c *cluster) start(i int) {
	c.t.Helper()
	switch {
	case i == 0:
		c.servers[i] = startDispatcher(c.t, c.at[0], c.dir)
	case i == 1 && c.network != nil:
		c.servers[i] = start(c.t, "worker", "--port", port(c.at[1]), "--host", otherHost, "--dispatcher", c.at[0], "--data", os.TempDir(), "--trusted-network")
	default:
		c.servers[i] = startServiceWorker(c.t, c.at[i], c.at[0], os.TempDir())
	}
}

// kill ends a server without warning.
func (c *cluster) kill(i int) { c.servers[i].end(c.t, syscall.SIGKILL) }

// restart ends a server without warning and starts it again.
func (c *cluster) restart(i int) {
	c.kill(i)
	c.start(i)
}

// signal sends a signal to a server.
func (c *cluster) signal(i int, signal syscall.Signal) {
	if err := c.servers[i].Process.Signal(signal); err != nil {
		c.t.Error(err)
	}
}

// Whatever happens to the servers, each record comes once, in order with order same, before the
// deadline.
func TestServiceFaults(t *testing.T) {
	needOperations(t)
	tests := map[string]struct {
		network bool
		delay   time.Duration
		at      func(c *cluster, batch int)
	}{
		"a worker killed again and again": {at: func(c *cluster, batch int) {
			if batch%100 == 20 {
				c.restart(1 + batch/100%2)
			}
		}},
		"the dispatcher killed": {at: func(c *cluster, batch int) {
			if batch == 30 {
				c.restart(0)
			}
		}},
		"both killed": {at: func(c *cluster, batch int) {
			if batch == 40 {
				c.kill(1)
				c.restart(0)
				c.start(1)
			}
		}},
		"the dispatcher gone": {at: func(c *cluster, batch int) {
			if batch == 30 {
				c.kill(0)
				c.kill(1)
				c.kill(2)
			}
		}},
		"a worker stopped": {at: func(c *cluster, batch int) {
			switch batch {
			case 20:
				c.signal(2, syscall.SIGSTOP)
			case 200:
				c.signal(2, syscall.SIGCONT)
			}
		}},
		"a slow worker": {network: true, delay: 50 * time.Millisecond},
		"the network cut": {network: true, at: func(c *cluster, batch int) {
			switch batch {
			case 20:
				c.network.cut()
			case 220:
				c.network.heal()
			}
		}},
	}
	f := servedData(t, fixture.Object{"epochs": soak.Rounds(5, 50)})
	alone := opened(t, f, nil)
	want, _ := batchesOf(t, alone, nil, nil)
	wanted, _, _ := rowsOfRun(t, alone, nil, nil)
	closed(t, alone)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range soak.Rounds(1, 40) {
				c := newCluster(t, test.network, test.delay)
				at := func(batch int) {
					if test.at != nil {
						test.at(c, batch)
					}
				}
				same, free := opened(t, f, served(c.at[0])), opened(t, f, anyOrder(c.at[0]))
				got, _ := batchesOf(t, limited(t, same), nil, at)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("in order (-alone +served)\n%s", diff)
				}
				closed(t, same)
				c.revive()
				rows, _, _ := rowsOfRun(t, limited(t, free), nil, at)
				if diff := cmp.Diff(sorted(wanted...), sorted(rows...)); diff != "" {
					t.Fatalf("in any order (-alone +served)\n%s", diff)
				}
				closed(t, free)
			}
		})
	}
}

// limited returns a loader whose runs fail the test at the deadline.
func limited(t *testing.T, l *loaders.Loader) *loaders.Loader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	context.AfterFunc(ctx, func() {
		if ctx.Err() == context.DeadlineExceeded {
			panic("a run by a service hangs")
		}
	})
	return l
}

// revive starts the servers that a fault ended for good.
func (c *cluster) revive() {
	for i, s := range c.servers {
		if s.ProcessState != nil {
			c.start(i)
		}
	}
}
