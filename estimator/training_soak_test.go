package estimator_test

import (
	"testing"

	"millrace/estimator"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// A hundred thousand steps with their checkpoints in "make soak" leave no memory
// and no handle.
func TestStepsLeaveNothing(t *testing.T) {
	steps := soak.Rounds(2_000, 100_000)
	noneLeft, memory := leak.Objects(t, tfbridge.Live), leak.NewGrowth(steps)
	o := &estimator.TrainOptions{Steps: int64(steps), CheckpointEvery: 500}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		memory.Round(t, int(s.Step-1))
		return nil
	}
	if _, err := train(t, fixture.Points(t, 4, fixture.Shuffled()), t.TempDir(), o); err != nil {
		t.Fatal(err)
	}
	memory.Check(t, 32*mib)
	noneLeft()
}
