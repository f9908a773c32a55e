package rest

import (
	"sync"
	"time"
)

// rareDeadline is the deadline of a connection's reads or writes. fasthttp sets three of them for
// each request, and Go wakes the thread that waits for the network for each that is earlier than
// its next timer, which costs more than to read the request. So a deadline is set only when the
// connection is about to read or write, and a deadline that was set before is good enough if it
// ends a little earlier: by less than an eighth of the time that is left. Many goroutines may
// use it.
type rareDeadline struct {
	set func(time.Time) error

	mu           sync.Mutex // guards the fields below
	wanted, last time.Time  // last is the deadline that was set
}

// soon is the time before a deadline from which on it is set at once, because it may have to
// end a call that is in progress.
const soon = 6 * time.Second

// change changes the deadline; zero stands for none.
func (d *rareDeadline) change(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if t.IsZero() || time.Until(t) > soon {
		return nil
	}
	d.last = t
	return d.set(t)
}

// apply sets the deadline, unless the last one is good enough. It is called before a call that may
// block.
func (d *rareDeadline) apply() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	early := d.wanted.Sub(d.last)
	if early == 0 || !d.wanted.IsZero() && early > 0 && early < time.Until(d.wanted)/8 {
		return nil
	}
	d.last = d.wanted
	return d.set(d.wanted)
}
