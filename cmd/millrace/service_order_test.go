package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/address"
	"millrace/internal/test/fixture"
	"millrace/loaders"
	"millrace/tfbridge"
)

// anyOrder returns "service" for blocks in any order.
func anyOrder(address string) fixture.Object {
	s := served(address)
	s["order"] = "any"
	return s
}

// here returns "service" for a worker in this process.
func here() fixture.Object {
	s := served("")
	delete(s, "address")
	s["worker"] = fixture.Object{"trusted_network": true}
	return s
}

// rowsOfRun returns the rows of a run, sorted, and its states. at is as in batchesOf.
func rowsOfRun(t *testing.T, l *loaders.Loader, o *loaders.RunOptions, at func(batch int)) (rows []string, after []int, states [][]byte) {
	t.Helper()
	batches := 0
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tfbridge.View[int64](b.Tensor("id"))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			rows = append(rows, fmt.Sprint(id))
		}
		states, after = append(states, b.State()), append(after, len(rows))
		if batches++; at != nil {
			at(batches)
		}
	}
	return rows, after, states
}

// sorted returns the rows in an order that does not depend on when they came.
func sorted(rows ...string) []string { return slices.Sorted(slices.Values(rows)) }

// Blocks in any order are each delivered once, also where a worker dies, and a run continues from
// any state with what is missing: in any order, in the same one, and by a worker in this process
// without any other server.
func TestServiceAnyOrder(t *testing.T) {
	needOperations(t)
	at := address.Free(t, 3)
	startDispatcher(t, at[0], t.TempDir())
	startServiceWorker(t, at[1], at[0], os.TempDir())
	killed := startServiceWorker(t, at[2], at[0], os.TempDir())
	f := servedData(t, fixture.Object{"epochs": 3, "target_batch_size": 7})
	alone := opened(t, f, nil)
	want, _, _ := rowsOfRun(t, alone, nil, nil)
	together := opened(t, f, anyOrder(at[0]))
	got, after, states := rowsOfRun(t, together, &loaders.RunOptions{SaveEvery: 1}, func(batch int) {
		if batch == 25 {
			killed.end(t, syscall.SIGKILL)
		}
	})
	if diff := cmp.Diff(sorted(want...), sorted(got...)); diff != "" {
		t.Fatalf("(-alone +served)\n%s", diff)
	}
	if slices.Equal(want, got) {
		t.Error("the blocks that the killed worker had taken held up the others")
	}
	inOrder, inProcess := opened(t, f, served(at[0])), opened(t, f, here())
	for _, middle := range []int{0, 24, 26, len(states) / 2, len(states) - 2} {
		for name, l := range map[string]*loaders.Loader{"any order": together, "the same order": inOrder, "in this process": inProcess} {
			rest, _, _ := rowsOfRun(t, l, &loaders.RunOptions{State: states[middle]}, nil)
			if diff := cmp.Diff(sorted(want...), sorted(append(slices.Clone(got[:after[middle]]), rest...)...)); diff != "" {
				t.Errorf("after batch %d, %s (-want +got)\n%s", middle+1, name, diff)
			}
		}
	}
	closed(t, alone, together, inOrder, inProcess)
}

// A worker in this process gives the batches of a run without a service, by itself and beside
// others, and the states of both are the same.
func TestServiceHere(t *testing.T) {
	needOperations(t)
	at := address.Free(t, 2)
	startDispatcher(t, at[0], t.TempDir())
	other := startServiceWorker(t, at[1], at[0], os.TempDir())
	f := servedData(t, nil)
	alone := opened(t, f, nil)
	want, states := batchesOf(t, alone, &loaders.RunOptions{SaveEvery: 1}, nil)
	beside := served(at[0])
	beside["worker"] = fixture.Object{"trusted_network": true, "host": "localhost"}
	only := served(at[0])
	only["worker"] = fixture.Object{"trusted_network": true, "host": "localhost", "only": true}
	for _, c := range []struct {
		name    string
		service fixture.Object
		at      func(batch int)
	}{
		{"alone", here(), nil},
		{"beside others", beside, nil},
		// A stopped worker keeps the blocks that it has taken, and this process would have to make them.
		{"only", only, func(batch int) {
			if batch == 1 {
				if err := other.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		name := c.name
		before, err := tfbridge.ServiceBlocks()
		if err != nil {
			t.Fatal(err)
		}
		l := opened(t, f, c.service)
		got, servedStates := batchesOf(t, l, &loaders.RunOptions{SaveEvery: 1}, c.at)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-alone +served)\n%s", name, diff)
		}
		if len(states) != len(servedStates) {
			t.Errorf("%s: %d states, want %d", name, len(servedStates), len(states))
		}
		after, err := tfbridge.ServiceBlocks()
		if err != nil {
			t.Fatal(err)
		}
		if after.Made != before.Made || after.Received == before.Received {
			t.Errorf("%s: of the blocks the workers gave %d, and %d were made here", name, after.Received-before.Received, after.Made-before.Made)
		}
		closed(t, l)
	}
	if err := other.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	closed(t, alone)
}
