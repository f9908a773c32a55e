package observe

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// mostLines is the largest number of left-out records that a log names each second. A
// damaged disk gives thousands of them. The ledger names all.
const mostLines = 10

// leftOutLog returns a function that logs the records that are left out.
func leftOutLog(ctx context.Context, logger *slog.Logger) func(LeftOut) {
	limit := &lineLimit{now: time.Now}
	return func(e LeftOut) {
		more, suppressed := limit.next()
		if !more {
			return
		}
		logger.LogAttrs(ctx, slog.LevelWarn, "record left out", slog.String("source", e.Source), slog.String("file", e.File),
			slog.Int64("record", e.Record), slog.Int64("offset", e.Offset), slog.String("feature", e.Feature),
			slog.String("class", e.Class), slog.String("reason", e.Reason), slog.Int64("not_logged_before", suppressed))
	}
}

// lineLimit allows mostLines lines in a second.
type lineLimit struct {
	now func() time.Time

	mu         sync.Mutex
	began      time.Time // the second that is counted
	lines      int       // lines written in that second
	suppressed int64     // since the last line
}

// next reports whether another line is allowed, and if so how many lines were
// suppressed since the last one.
func (l *lineLimit) next() (allowed bool, suppressed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); now.Sub(l.began) >= time.Second {
		l.began, l.lines = now, 0
	}
	if l.lines == mostLines {
		l.suppressed++
		return false, 0
	}
	l.lines++
	suppressed, l.suppressed = l.suppressed, 0
	return true, suppressed
}
