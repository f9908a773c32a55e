package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"

	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/metrics"
	"millrace/internal/base/regularfile"
	"millrace/remote"
)

// log writes log.ndjson. Each line is written immediately and with one call, so that a
// killed run leaves at most one incomplete line, the last.
type log struct{ file *os.File }

// logLine is the common part of all lines.
type logLine struct {
	Step int64 `json:"step"`
}

// openLog opens the log of a run that continues after a step, in the folder to. It takes the lines
// of the log in the folder from, which may be the same one, but for lines of later steps, which a
// killed run left: these steps run again.
func openLog(from, to Folder, step int64) (*log, error) {
	kept, all, err := linesUntil(from.Log(), step)
	if err != nil {
		return nil, err
	}
	if !all || from != to {
		if err := checkpoint.WriteFile(to.Log(), kept); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(to.Log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, folderError(to.Log(), "open: %w", reason(err))
	}
	return &log{file}, nil
}

// linesUntil returns the lines of a log that count, and whether all do.
func linesUntil(path string, step int64) (kept []byte, all bool, err error) {
	all = true
	for line, err := range LogLines(path) {
		if err != nil {
			return nil, false, err
		}
		var at logLine
		if json.Unmarshal(line.Text, &at) != nil || at.Step > step {
			all = false
			continue
		}
		all = all && line.Whole
		kept = append(append(kept, line.Text...), '\n')
	}
	return kept, all, nil
}

// Limits of a log that is read again. A line has the confusion matrix of an evaluation.
const (
	maxLogLine  = 64 << 20
	maxLogBytes = 256 << 20
)

// LogLine is a line of a log.
type LogLine struct {
	Number int    // from 1
	Text   []byte // valid until the next line
	Whole  bool   // it has an end; the last line has none if a run is writing it
}

// LogLines yields the lines of a log, none if there is no file. An error comes last.
func LogLines(path string) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		f, err := openLines(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(LogLine{}, readError(path, err))
			return
		}
		defer f.Close()
		line := LogLine{}
		lines := bufio.NewScanner(io.LimitReader(f, maxLogBytes))
		lines.Buffer(nil, maxLogLine)
		lines.Split(func(data []byte, last bool) (int, []byte, error) {
			end := bytes.IndexByte(data, '\n')
			if line.Whole = end >= 0; line.Whole {
				return end + 1, data[:end], nil
			}
			if last && len(data) > 0 {
				return len(data), data, nil
			}
			return 0, nil, nil
		})
		for lines.Scan() {
			line.Number++
			line.Text = lines.Bytes()
			if !yield(line, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(LogLine{}, folderError(path, "read line %d: %w", line.Number+1, err))
		}
	}
}

// openLines opens a log for reading.
func openLines(path string) (io.ReadCloser, error) {
	if remote.IsURL(path) {
		if _, err := remote.Default.Peek(context.Background(), path); err != nil {
			return nil, err
		}
		f, err := remote.Open(context.Background(), path)
		if err == nil && f.Size() > maxLogBytes {
			f.Close()
			err = folderError(path, "read: %w", &regularfile.LimitError{Size: f.Size(), Limit: maxLogBytes})
		}
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	f, info, err := regularfile.OpenFile(path)
	if err == nil && info.Size() > maxLogBytes {
		f.Close()
		err = &regularfile.LimitError{Size: info.Size(), Limit: maxLogBytes}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// write writes a line.
func (l *log) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return folderError(filepath.Clean(l.file.Name()), "write: %w", reason(err))
	}
	return nil
}

// logged returns the values of a logged step: means over the steps since the one before it,
// where there are any, and else the values of the step. The loss has the name "loss". The
// processes of a cluster have their seconds for a step.
func logged(p *estimator.Progress, loss string) map[string]float64 {
	values := maps.Clone(p.Scalars)
	maps.Copy(values, p.Means)
	mean, ok := values[loss]
	if !ok {
		mean = p.Loss
	}
	delete(values, loss)
	values["loss"] = mean
	for rank, seconds := range p.WorkerSeconds {
		values[fmt.Sprintf("worker_seconds/%d", rank)] = round(seconds / float64(p.Steps))
	}
	return values
}

// progress writes the line of a logged step.
func (l *log) progress(p *estimator.Progress, loss string) error {
	line := map[string]any{
		"step": p.Step, "steps_per_s": round(p.StepsPerSecond()),
		"examples_per_s": round(p.ExamplesPerSecond()), "input_wait": round(p.InputShare()),
	}
	for name, v := range logged(p, loss) {
		if _, taken := line[name]; !taken {
			line[name] = metrics.Value{Number: v}
		}
	}
	return l.write(line)
}

// note writes a line of text.
func (l *log) note(step int64, text string) error {
	return l.write(map[string]any{"step": step, "note": text})
}

// evaluated writes the line of an evaluation.
func (l *log) evaluated(e *estimator.Evaluated) error {
	line := map[string]any{
		"step": e.Step, "evaluation": e.Values, "examples": e.Examples, "seconds": round(e.Duration.Seconds()), "best": e.Best,
	}
	if len(e.Warnings) > 0 {
		line["warnings"] = e.Warnings
	}
	return l.write(line)
}

// Close closes the log.
func (l *log) Close() error { return l.file.Close() }

// round leaves four digits, which is more than a measurement of time has.
func round(f float64) float64 {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(f))))
	return math.Round(f*scale) / scale
}
