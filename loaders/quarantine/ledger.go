package quarantine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"millrace"
)

// Ledger is a file with one line of JSON for each record that was left out. Each line
// is written whole by one call of the system, so a process that is killed leaves whole
// lines. A ledger that is there is continued: a record that it names is not listed
// again. The file is made when the first record is listed. Methods of a nil Ledger do
// nothing. Methods may be called concurrently.
type Ledger struct {
	path string

	mu    sync.Mutex
	known map[place]bool // nil: the file was not read yet
	size  int64          // of the file, as far as known has it
}

// NewLedger returns the ledger in a file, which need not exist.
func NewLedger(path string) *Ledger { return &Ledger{path: path} }

// open reads what the file lists already. It refuses one that is no ledger.
func (l *Ledger) open() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read()
}

// read reads what the file lists, unless it is known: another Ledger, such as that of an
// evaluation, may write to the file as well. A last line without an end was cut by a
// crash of the machine or a full disk: read removes it. The caller holds the lock.
func (l *Ledger) read() error {
	info, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.known, l.size = make(map[place]bool), 0
		return l.folder()
	case err != nil:
		return l.ioError("read", err)
	case l.known != nil && info.Size() == l.size:
		return nil
	}
	data, err := os.ReadFile(l.path)
	if err != nil {
		return l.ioError("read", err)
	}
	entries, size, err := parse(l.path, data)
	if err != nil {
		return err
	}
	if size < len(data) {
		if err := os.Truncate(l.path, int64(size)); err != nil {
			return l.ioError("truncate", err)
		}
	}
	l.known, l.size = make(map[place]bool), int64(size)
	for _, e := range entries {
		l.known[place{e.File, e.Ordinal}] = true
	}
	return nil
}

// folder returns an error if there is no folder to make the file in, so that a run need not
// meet a bad record to find out.
func (l *Ledger) folder() error {
	if _, err := os.Stat(filepath.Dir(l.path)); err != nil {
		return l.ioError("open the folder", err)
	}
	return nil
}

// append lists a record, unless it is listed.
func (l *Ledger) append(e Entry) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(); err != nil {
		return err
	}
	path, err := filepath.Abs(e.File) // the ledger is read elsewhere, too
	if err != nil {
		return l.ioError("write", err)
	}
	e.File = path
	at := place{e.File, e.Ordinal}
	if l.known[at] {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "ledger: %w", err)
	}
	line = append(line, '\n')
	if err := l.write(line); err != nil {
		return l.ioError("write", err)
	}
	l.size += int64(len(line))
	l.known[at] = true
	return nil
}

// write adds a line to the file, whole or not at all. The file is not kept open: bad
// records are rare, and nobody has to close a ledger.
func (l *Ledger) write(line []byte) error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(info.Size()), f.Close())
	}
	return f.Close()
}

func (l *Ledger) ioError(op string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	e := millrace.Errorf(millrace.ErrIO, "the ledger of bad records: %s: %w", op, err)
	e.Op, e.File = op, l.path
	return e
}

// Read returns the records that a ledger lists, in the order in which they were left
// out. A last line that was cut is not one of them.
func Read(path string) ([]Entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, NewLedger(path).ioError("read", err)
	}
	entries, _, err := parse(path, data)
	return entries, err
}

// parse returns the records that a ledger lists and the size of its whole lines.
func parse(path string, data []byte) (entries []Entry, size int, err error) {
	size = bytes.LastIndexByte(data, '\n') + 1
	if size == 0 && len(data) > 0 && data[0] != '{' {
		return nil, 0, notLedger(path, 1, errors.New("it does not begin with an object of JSON"))
	}
	data = data[:size]
	for number := 1; len(data) > 0; number++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		e := Entry{Ordinal: -1, Offset: -1, Length: -1}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, notLedger(path, number, err)
		}
		if e.File == "" || e.Ordinal < 0 || e.Offset < 0 || e.Length < 0 {
			return nil, 0, notLedger(path, number, errors.New("file, ordinal, offset or length is missing"))
		}
		entries = append(entries, e)
	}
	return entries, size, nil
}

func notLedger(path string, line int, cause error) error {
	e := millrace.Errorf(millrace.ErrConfig, "this is no ledger of bad records: %w; name another file", cause)
	e.File, e.Line = path, line
	return e
}
