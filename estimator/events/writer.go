package events

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace"
	pb "millrace/internal/base/tfproto"
	"millrace/tfrecord"
)

// fileVersion is the content of the first event of a file. TensorBoard does not read a
// file that begins otherwise.
const fileVersion = "brain.Event:2"

// Options says how to begin an event file. Nil means the defaults.
type Options struct {
	// Step is the step that a run continues after. TensorBoard then drops the events of
	// later steps in older files of the folder: these steps run again. 0 means that the run
	// begins.
	Step int64
}

// Writer writes one event file. Its methods must not be called concurrently. An
// event is in the file after the next Flush or Close. Errors are of class ErrIO;
// after the first one all calls return it.
type Writer struct {
	file    *os.File
	records *tfrecord.Writer
	size    int64 // bytes
	now     func() time.Time
}

// files counts the files of this process, so that their names differ.
var files atomic.Int64

// Create makes a folder, unless it exists, and a new event file in it. The caller
// closes the Writer.
func Create(dir string, o *Options) (*Writer, error) {
	if o == nil {
		o = &Options{}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, failure(dir, "make the folder", err)
	}
	path := filepath.Join(dir, fileName(time.Now()))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, failure(path, "create", err)
	}
	w := &Writer{file: file, records: tfrecord.NewWriter(file, tfrecord.None), now: time.Now}
	if err := w.begin(o.Step); err != nil {
		file.Close()
		os.Remove(path)
		return nil, err
	}
	return w, nil
}

// fileName returns a name as TensorFlow gives it: time, host, process, number.
func fileName(t time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("events.out.tfevents.%d.%s.%d.%d.v2", t.Unix(), host, os.Getpid(), files.Add(1)-1)
}

// begin writes the first events.
func (w *Writer) begin(step int64) error {
	if err := w.write(0, &pb.Event{What: &pb.Event_FileVersion{FileVersion: fileVersion}}); err != nil {
		return err
	}
	if step > 0 {
		start := &pb.Event_SessionLog{SessionLog: &pb.SessionLog{Status: pb.SessionLog_START}}
		if err := w.write(step+1, &pb.Event{What: start}); err != nil {
			return err
		}
	}
	return w.Flush()
}

// write adds an event.
func (w *Writer) write(step int64, e *pb.Event) error {
	e.Step, e.WallTime = step, float64(w.now().UnixMicro())/1e6
	data, err := proto.Marshal(e)
	if err != nil {
		return failure(w.file.Name(), "encode an event", err)
	}
	if err := w.records.Write(data); err != nil {
		return failure(w.file.Name(), "write", err)
	}
	w.size += int64(len(data)) + tfrecord.FrameBytes
	return nil
}

// Size returns the number of bytes of all events so far.
func (w *Writer) Size() int64 { return w.size }

// Flush writes the buffered events to the file.
func (w *Writer) Flush() error {
	if err := w.records.Flush(); err != nil {
		return failure(w.file.Name(), "write", err)
	}
	return nil
}

// Close flushes and closes the file. A second Close does nothing.
func (w *Writer) Close() error {
	err := w.records.Close()
	if closeErr := w.file.Close(); err == nil && !errors.Is(closeErr, os.ErrClosed) {
		err = closeErr
	}
	if err != nil {
		return failure(w.file.Name(), "close", err)
	}
	return nil
}

// failure is an error about a file. The message names the path once.
func failure(path, what string, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	e := millrace.Errorf(millrace.ErrIO, "%s: %w", what, err)
	e.File = path
	return e
}
