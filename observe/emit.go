package observe

import (
	"errors"

	"millrace"
)

// Fault calls l.BadRecord if err names a bad record. It returns err.
func (l *Listener) Fault(source string, err error) error {
	if l == nil || l.BadRecord == nil {
		return err
	}
	var e *millrace.Error
	if errors.As(err, &e) && e.File != "" && e.Record >= 0 {
		l.BadRecord(BadRecord{Source: source, File: e.File, Record: e.Record, Offset: e.Offset, Feature: e.Feature, Err: err})
	}
	return err
}

// Join returns a listener that calls all listeners in order. Nil listeners are
// skipped. An event that no listener handles costs nothing.
func Join(listeners ...*Listener) *Listener {
	joined := &Listener{}
	for _, l := range listeners {
		if l == nil {
			continue
		}
		joined.Opened = both(joined.Opened, l.Opened)
		joined.Scanned = both(joined.Scanned, l.Scanned)
		joined.Batch = both(joined.Batch, l.Batch)
		joined.Stall = both(joined.Stall, l.Stall)
		joined.BadRecord = both(joined.BadRecord, l.BadRecord)
		joined.LeftOut = both(joined.LeftOut, l.LeftOut)
		joined.Filtered = both(joined.Filtered, l.Filtered)
		joined.Retry = both(joined.Retry, l.Retry)
		joined.Closed = both(joined.Closed, l.Closed)
	}
	return joined
}

// both returns a function that calls first and second. Either may be nil.
func both[E any](first, second func(E)) func(E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(e E) {
		first(e)
		second(e)
	}
}
