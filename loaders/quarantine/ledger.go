package quarantine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
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
}

// NewLedger returns the ledger in a file, which need not exist.
func NewLedger(path string) *Ledger { return &Ledger{path: path} }

// open reads what the file lists already. It refuses one that is no ledger. A last
// line without an end was cut by a crash of the machine or a full disk: open removes it.
func (l *Ledger) open() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known != nil {
		return nil
	}
	data, err := os.ReadFile(l.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l.ioError("read", err)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	entries, err := parse(l.path, whole)
	if err != nil {
		return err
	}
	if len(whole) == 0 && len(data) > 0 && data[0] != '{' {
		return notLedger(l.path, 1, errors.New("it does not begin with an object of JSON"))
	}
	if len(whole) < len(data) {
		if err := os.Truncate(l.path, int64(len(whole))); err != nil {
			return l.ioError("truncate", err)
		}
	}
	l.known = make(map[place]bool)
	for _, e := range entries {
		l.known[place{e.File, e.Ordinal}] = true
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
	at := place{e.File, e.Ordinal}
	if l.known[at] {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "ledger: %w", err)
	}
	if err := l.write(append(line, '\n')); err != nil {
		return l.ioError("write", err)
	}
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
	return parse(path, data[:bytes.LastIndexByte(data, '\n')+1])
}

// parse reads whole lines.
func parse(path string, data []byte) ([]Entry, error) {
	var entries []Entry
	for number := 1; len(data) > 0; number++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		e := Entry{Ordinal: -1, Offset: -1, Length: -1}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, notLedger(path, number, err)
		}
		if e.File == "" || e.Ordinal < 0 || e.Offset < 0 || e.Length < 0 {
			return nil, notLedger(path, number, errors.New("file, ordinal, offset or length is missing"))
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func notLedger(path string, line int, cause error) error {
	e := millrace.Errorf(millrace.ErrConfig, "this is no ledger of bad records: %w; name another file", cause)
	e.File, e.Line = path, line
	return e
}
