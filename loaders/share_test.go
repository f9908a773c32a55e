package loaders_test

import (
	"testing"

	"millrace/graph"
	"millrace/graph/steps"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// sharedBatches reads one process's share of the batches of a config, with the state after each.
func sharedBatches(t *testing.T, config string, share steps.Share, state []byte) (ids [][]int64, states [][]byte) {
	t.Helper()
	plan, problems := loaders.Check(config, nil)
	if plan == nil {
		t.Fatal(problems)
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	p, err := (&loaders.Source{Plan: plan}).Pipeline(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for b, err := range p.Run(t.Context(), session, &steps.Options{Share: share, State: state, SaveEvery: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		ids, states = append(ids, column[int64](t, b, "id")), append(states, b.State())
	}
	return ids, states
}

// Processes that share batches take all of them, each once, in the order of a process alone. From
// a state of process 0 each continues with its own next batch, also if there are fewer of them.
func TestShareOfBatches(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"in order": {"seed": 3}, "exact": {"shuffle": true, "shuffle_mode": "exact", "seed": 3}, "buffers": fixture.Shuffled(),
	} {
		t.Run(name, func(t *testing.T) {
			d := fixture.New(t)
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 50)...)
			d.WriteRecords(t, "b.tfrecords", fixture.Records(50, 88)...)
			for key, v := range args {
				d.Args[key] = v
			}
			d.Args["target_batch_size"], d.Args["epochs"] = 8, 1
			d.Save(t)
			whole, _ := sharedBatches(t, d.Config(), steps.Share{}, nil)
			if len(whole) != 11 {
				t.Fatalf("%d batches", len(whole))
			}
			check := func(of int64, state []byte, want [][]int64) (states [][]byte) {
				joined := make([][]int64, len(want))
				for rank := range of {
					ids, after := sharedBatches(t, d.Config(), steps.Share{Of: of, Rank: rank}, state)
					for i, batch := range ids {
						joined[int64(i)*of+(rank+of-1)%of] = batch
					}
					if rank == 0 {
						states = after
					}
				}
				if diff := cmp.Diff(want, joined); diff != "" {
					t.Errorf("%d processes (-alone +joined):\n%s", of, diff)
				}
				return states
			}
			states := check(3, nil, whole)
			check(3, states[0], whole[3:])
			check(2, states[1], whole[6:])
			check(1, states[1], whole[6:])
		})
	}
}
