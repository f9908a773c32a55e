package estimate

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"millrace/cmd/millrace/internal/cli"
	"millrace/estimator"
	"millrace/internal/base/figures"
	"millrace/internal/base/terminal"
)

// figuresEvery is the interval over which the figures of the progress line are
// averaged. Figures that change faster cannot be read.
const figuresEvery = time.Second

// trainProgress shows the progress of a training on a terminal: one line at its
// bottom that is rewritten. Other lines appear above it.
type trainProgress struct {
	last  func() int64 // the last step of the training; 0: not known
	bars  *mpb.Progress
	bar   *mpb.Bar
	drawn time.Time // when bar got its length
	now   func() time.Time

	mu     sync.Mutex // guards the fields below: a separate goroutine draws the bar
	began  time.Time
	steps  int64 // the last result of last
	first  int64 // the step after which the training was resumed
	step   int64
	loss   float64
	total  estimator.Progress
	window estimator.Progress // the last full figuresEvery; the whole training before there is one
	marked estimator.Progress // total at the end of window
}

// newTrainProgress returns the progress of a training that resumes after a step.
func newTrainProgress(last func() int64, first int64) *trainProgress {
	p := &trainProgress{last: last, steps: last(), now: time.Now, first: first, step: first, loss: math.NaN()}
	p.began = p.now()
	return p
}

// show draws the line on a terminal.
func (t *trainProgress) show(w io.Writer) {
	t.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(cli.RedrawEvery))
	status := mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string { return t.status(s.AvailableWidth) }))
	if t.steps > 0 {
		t.bar = t.bars.New(t.steps, cli.BarStyle(), mpb.BarRemoveOnComplete(), status)
		t.bar.SetCurrent(t.first)
	} else {
		t.bar = t.bars.New(0, mpb.SpinnerStyle(), mpb.BarRemoveOnComplete(), status)
	}
}

// made counts a step. It draws nothing while it holds the lock, because the drawing
// goroutine may be waiting for the lock.
func (t *trainProgress) made(s *estimator.Step) {
	t.count(s)
	if now := t.now(); t.bar != nil && now.Sub(t.drawn) >= cli.RedrawEvery {
		t.drawn = now
		if last := t.last(); t.expect(last) {
			t.bar.SetTotal(last, false)
		}
		t.bar.SetCurrent(min(s.Step, t.steps-1)) // a full bar is removed at once
	}
}

// count counts a step.
func (t *trainProgress) count(s *estimator.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.step, t.loss, t.total = s.Step, s.Loss, s.Total
	if window := minus(t.total, t.marked); window.Duration >= figuresEvery {
		t.window, t.marked = window, t.total
	} else if t.marked.Steps == 0 {
		t.window = t.total
	}
}

// expect sets the last step, which falls when bad records are left out. It reports
// whether the step has changed.
func (t *trainProgress) expect(last int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := last > 0 && last != t.steps
	if changed {
		t.steps = last
	}
	return changed
}

// minus returns the difference of a and b.
func minus(a, b estimator.Progress) estimator.Progress {
	return estimator.Progress{
		Steps: a.Steps - b.Steps, Examples: a.Examples - b.Examples, Duration: a.Duration - b.Duration, InputWait: a.InputWait - b.InputWait,
	}
}

// status returns the line: "1,234/2,000 loss 0.1234 812 steps/s 25,984 examples/s input
// wait 3% 2s left". Parts that do not fit into the width are left out, the least
// important first.
func (t *trainProgress) status(width int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	const loss, steps, examples, wait, left, parts = 1, 2, 3, 4, 5, 6
	var text [parts]string
	text[0] = figures.Count(t.step)
	if t.steps >= t.step && t.steps > 0 {
		text[0] += "/" + figures.Count(t.steps)
	}
	if t.total.Steps > 0 {
		text[loss] = fmt.Sprintf("loss %.4g", t.loss)
		text[steps] = figures.Number(t.window.StepsPerSecond()) + " steps/s"
		text[examples] = figures.Number(t.window.ExamplesPerSecond()) + " examples/s"
		text[wait] = fmt.Sprintf("input wait %.0f%%", 100*t.window.InputShare())
		text[left] = t.left()
	}
	for _, i := range []int{examples, steps, wait, left, loss} {
		if len(join(text[:])) <= width {
			break
		}
		text[i] = ""
	}
	return join(text[:])
}

// join joins the parts that are not empty.
func join(parts []string) string {
	var line strings.Builder
	for _, part := range parts {
		if part != "" && line.Len() > 0 {
			line.WriteString("  ")
		}
		line.WriteString(part)
	}
	return line.String()
}

// left returns the time left, "" if it is not known. The estimate includes the time
// that evaluations and checkpoints have taken so far.
func (t *trainProgress) left() string {
	if t.steps <= t.step {
		return ""
	}
	seconds := t.now().Sub(t.began).Seconds() / float64(t.step-t.first) * float64(t.steps-t.step)
	return (time.Duration(math.Ceil(seconds)) * time.Second).String() + " left"
}

// line prints a line above.
func (t *trainProgress) line(text string) { fmt.Fprintln(t.bars, text) }

// stop removes the line.
func (t *trainProgress) stop() {
	t.bar.Abort(true)
	t.bars.Wait()
}

// reporter prints the messages of a training to standard error: to a terminal with a
// [trainProgress], elsewhere one line each.
type reporter struct {
	p     *program
	quiet bool         // prints only necessary messages
	steps func() int64 // the last step of the training; 0: not known
	live  *trainProgress
}

// hooks returns the hooks of the training.
func (r *reporter) hooks() estimator.Hooks {
	h := estimator.Hooks{Note: r.note, Restored: r.restored, Trains: r.trains}
	switch {
	case r.quiet:
		return h
	case cli.IsTerminal(r.p.Stderr):
		h.AfterStep = func(s *estimator.Step) error {
			r.live.made(s)
			return nil
		}
	default:
		h.Logged = r.logged
	}
	h.Evaluated = r.evaluated
	return h
}

// print prints a line, above the progress where there is one.
func (r *reporter) print(format string, args ...any) {
	text := terminal.Line(fmt.Sprintf(format, args...))
	if r.live != nil {
		r.live.line(text)
		return
	}
	fmt.Fprintln(r.p.Stderr, text)
}

func (r *reporter) note(text string) { r.print("note: %s", text) }

func (r *reporter) trains(t *estimator.Trained) error {
	if r.quiet {
		return nil
	}
	for _, line := range t.Text() {
		r.print("%s", line)
	}
	return nil
}

func (r *reporter) restored(step int64) error {
	if step > 0 {
		r.print("going on after step %d", step)
	}
	if !r.quiet && cli.IsTerminal(r.p.Stderr) {
		r.live = newTrainProgress(r.steps, step)
		r.live.show(r.p.Stderr)
	}
	return nil
}

func (r *reporter) logged(l *estimator.Progress) error {
	r.print("step %d: loss %.5g, %s steps/s, %s examples/s, %.0f%% of the time waiting for input", l.Step, l.Loss,
		figures.Number(l.StepsPerSecond()), figures.Number(l.ExamplesPerSecond()), 100*l.InputShare())
	return nil
}

func (r *reporter) evaluated(e *estimator.Evaluated) error {
	r.print("step %d: evaluated %s:%s", e.Step, figures.Of(e.Examples, "example"), metricText(e.Evaluation))
	return nil
}

// stop removes the progress line. Later messages are printed as usual.
func (r *reporter) stop() {
	if r.live != nil {
		r.live.stop()
		r.live = nil
	}
}
