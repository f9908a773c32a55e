package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"millrace/internal/base/figures"
	"millrace/observe"
)

// lineEvery is the time between two progress lines when the output is not a
// terminal.
const lineEvery = 5 * time.Second

// RedrawEvery is the time from one drawing of a progress line to the next.
const RedrawEvery = 150 * time.Millisecond

// Meter shows the progress of a command: a bar on a terminal, a line every
// [lineEvery] elsewhere.
type Meter struct {
	what    string
	w       io.Writer
	total   atomic.Int64 // total number of records, 0 if unknown
	done    atomic.Int64
	began   time.Time
	printed time.Time             // time of the last line
	first   atomic.Pointer[point] // the end of the first batch; nil before
	elapsed time.Duration
	bars    *mpb.Progress // nil if w is not a terminal

	mu       sync.Mutex // guards the fields below and printed: the producer of a canceled run may still count
	bar      *mpb.Bar
	expected func() int64 // returns the current total
	asked    time.Time    // when it was called last
}

// point is the progress of a command at some time.
type point struct {
	at   time.Time
	done int64
}

// Listener returns a listener that counts the records of a run.
func (m *Meter) Listener() *observe.Listener {
	return &observe.Listener{Batch: func(e observe.Batch) { m.Add(e.Rows) }}
}

// NewMeter returns a meter that has not started.
func (p *Program) NewMeter(what string) *Meter { return &Meter{what: what, w: p.Stderr} }

// Start starts the clock and shows the progress. expected returns the number of records
// at the end, 0 if it is not known. Add calls it from time to time, because the number
// falls when bad records are left out.
func (m *Meter) Start(expected func() int64) {
	m.expected, m.began = expected, time.Now()
	m.total.Store(expected())
	if IsTerminal(m.w) {
		m.startBar()
	}
}

// minWidth is the width, in columns, that a bar needs.
const minWidth = 40

// IsTerminal reports whether w is a terminal that can move its cursor and
// show a bar.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return err == nil && width >= minWidth && height > 1
}

// BarStyle draws bars in ASCII.
func BarStyle() mpb.BarStyleComposer {
	return mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]")
}

func (m *Meter) startBar() {
	m.bars = mpb.New(mpb.WithOutput(m.w), mpb.WithWidth(40), mpb.WithRefreshRate(RedrawEvery))
	status := decor.Any(func(decor.Statistics) string { return m.status(time.Now()) })
	if total := m.total.Load(); total > 0 {
		m.bar = m.bars.New(total, BarStyle(), mpb.BarRemoveOnComplete(), mpb.AppendDecorators(status))
		return
	}
	m.bar = m.bars.New(0, mpb.SpinnerStyle(), mpb.BarRemoveOnComplete(), mpb.AppendDecorators(status))
}

// Add counts n more records as done.
func (m *Meter) Add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, done := time.Now(), m.done.Add(n)
	if m.first.Load() == nil {
		m.first.Store(&point{now, done})
	}
	if m.elapsed > 0 {
		return // stopped
	}
	m.expect(now)
	if m.bar != nil {
		m.bar.IncrInt64(n)
		return
	}
	if m.printed.IsZero() || now.Sub(m.printed) >= lineEvery {
		m.printed = now
		fmt.Fprintf(m.w, "%s: %s\n", m.what, m.status(now))
	}
}

// expect asks for the total again, if it is time for that.
func (m *Meter) expect(now time.Time) {
	if m.expected == nil || now.Sub(m.asked) < RedrawEvery {
		return
	}
	m.asked = now
	total := m.expected()
	if m.total.Swap(total) != total && m.bar != nil && total > 0 {
		m.bar.SetTotal(total, false)
	}
}

// status returns the progress as text: "1,024 of 1,797 records, 45,012/s, 2 s left".
// The rate counts from the first batch, which had to wait for the start.
func (m *Meter) status(now time.Time) string {
	done := m.done.Load()
	s := figures.Count(done)
	total := m.total.Load()
	if total > 0 {
		s += " of " + figures.Count(total)
	}
	s += " records"
	first := m.first.Load()
	if first == nil || done == first.done {
		return s
	}
	rate := figures.Rate(done-first.done, now.Sub(first.at))
	s += fmt.Sprintf(", %s/s", figures.Count(int64(rate)))
	if left := total - done; left > 0 && rate > 0 {
		s += fmt.Sprintf(", %s left", time.Duration(math.Ceil(float64(left)/rate))*time.Second)
	}
	return s
}

// Stop removes the bar and returns the time since Start. Later calls only
// return that time.
func (m *Meter) Stop() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.elapsed == 0 && !m.began.IsZero() {
		m.elapsed = time.Since(m.began)
	}
	if m.bar != nil {
		m.bar.Abort(true)
		m.bars.Wait()
		m.bar = nil
	}
	return m.elapsed
}
