package observe

import (
	"context"
	"log/slog"
	"time"
)

// Log returns a listener that writes to a logger: batches and stalls at level
// debug, bad records and retries as warnings, other events at level info. A
// disabled level costs no attributes.
func Log(logger *slog.Logger) *Listener {
	ctx := context.Background()
	say := func(level slog.Level, msg, source string, d time.Duration, more ...slog.Attr) {
		logger.LogAttrs(ctx, level, msg, append([]slog.Attr{slog.String("source", source), slog.Duration("duration", d)}, more...)...)
	}
	return &Listener{
		Opened: func(e Opened) { say(slog.LevelInfo, "opened", e.Source, e.Duration, slog.Int("files", e.Files)) },
		Scanned: func(e Scanned) {
			say(slog.LevelInfo, "scanned", e.Source, e.Duration,
				slog.Int("files", e.Files), slog.Int64("records", e.Records), slog.Int64("bytes", e.Bytes))
		},
		Batch: func(e Batch) {
			if logger.Enabled(ctx, slog.LevelDebug) {
				say(slog.LevelDebug, "batch", e.Source, e.Duration,
					slog.String("signature", e.Signature), slog.Int64("step", e.Step), slog.Int64("rows", e.Rows))
			}
		},
		Stall: func(e Stall) {
			if logger.Enabled(ctx, slog.LevelDebug) {
				say(slog.LevelDebug, "stall", e.Source, e.Duration,
					slog.String("signature", e.Signature), slog.Int64("step", e.Step))
			}
		},
		BadRecord: func(e BadRecord) {
			logger.LogAttrs(ctx, slog.LevelWarn, "bad record", slog.String("source", e.Source), slog.String("file", e.File),
				slog.Int64("record", e.Record), slog.Int64("offset", e.Offset), slog.String("feature", e.Feature), slog.Any("error", e.Err))
		},
		LeftOut: leftOutLog(ctx, logger),
		Filtered: func(e Filtered) {
			logger.LogAttrs(ctx, slog.LevelInfo, "filtered", slog.String("source", e.Source), slog.Int64("examples", e.Examples))
		},
		Retry: func(e Retry) {
			logger.LogAttrs(ctx, slog.LevelWarn, "retry", slog.String("source", e.Source),
				slog.String("signature", e.Signature), slog.Int64("step", e.Step), slog.Any("error", e.Err))
		},
		Closed: func(e Closed) {
			var more []slog.Attr
			if e.Err != nil {
				more = append(more, slog.Any("error", e.Err))
			}
			say(slog.LevelInfo, "closed", e.Source, e.Duration, more...)
		},
	}
}
