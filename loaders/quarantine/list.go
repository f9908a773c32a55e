package quarantine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/tfrecord"
)

// ErrTooMany is the cause of the error that ends a run with too many bad records.
var ErrTooMany = errors.New("more records are bad than may be left out")

// List knows which records a run has left out. Its methods may be called
// concurrently.
type List struct {
	limit  int64
	asked  string // the limit in the words of the config
	ledger *Ledger

	mu     sync.Mutex
	listen func(Entry)
	left   map[tfrecord.Location]bool // true: the rest of the file, too
}

// NewList returns a list of at most a given number of records. asked is that limit in
// the words of the config. A ledger lists the records; it may be nil.
func NewList(limit int64, asked string, ledger *Ledger) *List {
	return &List{limit: limit, asked: asked, ledger: ledger, left: make(map[tfrecord.Location]bool)}
}

// Begin prepares the list for another run, which starts at the beginning of the data or
// at a saved state; left has the records that were left out before. listen is called
// for each further record, one call at a time; it may be nil.
func (l *List) Begin(left []tfrecord.Location, listen func(Entry)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.left)
	for _, p := range left {
		l.left[p] = false
	}
	l.listen = listen
	return l.ledger.open()
}

// LeaveOut leaves a record out. cause is why it is bad. The error is nil if the run may
// continue. If there are too many bad records, the error has the place of this record
// and the cause [ErrTooMany].
func (l *List) LeaveOut(e Entry, cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := tfrecord.Location{File: e.FileNumber, Record: e.Ordinal}
	if _, known := l.left[at]; known {
		l.left[at] = l.left[at] || e.RestOfFile
		return nil
	}
	if int64(len(l.left)) >= l.limit {
		return l.tooMany(e, cause)
	}
	e.describe(cause)
	if err := l.ledger.append(e); err != nil {
		return err
	}
	l.left[at] = e.RestOfFile
	if l.listen != nil {
		l.listen(e)
	}
	return nil
}

// tooMany returns the error for the first record above the limit.
func (l *List) tooMany(e Entry, cause error) error {
	var fault *millrace.Error
	if !errors.As(cause, &fault) {
		fault = millrace.Errorf(millrace.ErrCorrupt, "%w", cause)
	}
	last := *fault
	last.File, last.Record, last.Offset = e.File, e.Ordinal, e.Offset
	last.Msg += fmt.Sprintf("; it is the %s bad record, and args.bad_records lets %s be left out (%s)",
		ordinal(l.limit+1), figures.Count(l.limit), l.asked)
	last.Err = ErrTooMany
	return &last
}

// ordinal returns 1st, 2nd, 3rd, 4th and so on.
func ordinal(n int64) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		suffix = cmp.Or(map[int64]string{1: "st", 2: "nd", 3: "rd"}[n%10], suffix)
	}
	return figures.Count(n) + suffix
}

// Locations returns the records that were left out, in the order of the data.
func (l *List) Locations() []tfrecord.Location {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]tfrecord.Location, 0, len(l.left))
	for p := range l.left {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b tfrecord.Location) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Record, b.Record))
	})
	return all
}

// Len returns how many records were left out.
func (l *List) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.left)
}

// Counted returns how many of the first counts[i] records of each file i were left
// out.
func (l *List) Counted(count func(file int) int64) (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.left {
		if p.Record < count(p.File) {
			n++
		}
	}
	return n
}
