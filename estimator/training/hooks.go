package training

import "time"

// Hooks are functions that a training calls, all from the goroutine that
// trains and in order. Nil functions are not called. An error of a hook ends
// the training with that error, as a failed step does: the last checkpoint
// stays.
type Hooks struct {
	Trains     func(*Trained) error   // before Restored, with an Objective
	Restored   func(step int64) error // the training is about to continue after step; 0: to begin
	BeforeStep func(step int64) error // step is about to be made; the first one is 1
	AfterStep  func(*Step) error      // a step was made
	Logged     func(*Progress) error  // Options.LogEvery steps were made
	Saved      func(*Saved) error     // a checkpoint was written
	Evaluated  func(*Evaluated) error // an evaluation has ended
	Note       func(text string)      // a remark for the user
}

// Progress is the progress of a training since the last Progress.
type Progress struct {
	Step      int64
	Loss      float64            // loss of the last step
	Scalars   map[string]float64 // scalars of the last step
	Means     map[string]float64 // means of the scalars of floating point over the steps, by their examples, without the learning rate
	Steps     int64
	Examples  int64
	Duration  time.Duration // without evaluations
	InputWait time.Duration // part of Duration spent waiting for the input pipeline

	// WorkerSeconds are the seconds that each process of a cluster took for its parts of the
	// steps, by rank: waiting for the input and computing its derivatives. Nil without a
	// cluster.
	WorkerSeconds []float64
}

// Saved is a checkpoint that was written.
type Saved struct {
	Step     int64
	Prefix   string        // path prefix of its files
	Bytes    int64         // size of its tensors
	Held     time.Duration // how long the next step had to wait: for the checkpoint before, where the disk is slow, and for the snapshot
	Duration time.Duration // until the files were on the disk
	Best     bool          // whether the evaluation at this step is the best
}

// Evaluated is an evaluation that has ended.
type Evaluated struct {
	*Evaluation
	Step int64
	Best bool // whether it is the best by Options.Best
}

// StepsPerSecond returns the rate of the steps, 0 where no time passed.
func (p *Progress) StepsPerSecond() float64 { return perSecond(p.Steps, p.Duration) }

// ExamplesPerSecond returns the rate of the examples, 0 where no time passed.
func (p *Progress) ExamplesPerSecond() float64 { return perSecond(p.Examples, p.Duration) }

// InputShare returns the share of the time that went into waiting for the
// input, from 0 to 1.
func (p *Progress) InputShare() float64 {
	if p.Duration <= 0 {
		return 0
	}
	return min(1, p.InputWait.Seconds()/p.Duration.Seconds())
}

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
