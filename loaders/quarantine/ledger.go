package quarantine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"millrace"
	"millrace/internal/base/regularfile"
)

// Ledger is a file with one line of JSON for each record that was left out. Each line
// is written by one system call, so a process that is killed leaves whole lines. An
// existing ledger is continued: a record that it names is not listed again. The file is
// made when the first record is listed. Methods of a nil Ledger do nothing. Methods may
// be called concurrently.
type Ledger struct {
	path string

	mu    sync.Mutex
	known map[place]bool // nil: the file was not read yet
	size  int64          // size of the file when known was read
}

// NewLedger returns the ledger in a file, which need not exist.
func NewLedger(path string) *Ledger { return &Ledger{path: path} }

// open reads the records that the file lists already. It refuses a file that is not a
// ledger.
func (l *Ledger) open() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read()
}

// read reads the records that the file lists, unless they are known. It may have to
// read again, because another Ledger, such as an evaluation's, may write to the file as
// well. read removes an incomplete last line, which is left by a crash of the machine
// or a full disk. The caller holds the lock.
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
	known := make(map[place]bool)
	whole, all, err := l.each(func(e Entry) { known[place{e.File, e.Ordinal}] = true })
	if err != nil {
		return err
	}
	if whole < all {
		if err := os.Truncate(l.path, whole); err != nil {
			return l.ioError("truncate", err)
		}
	}
	l.known, l.size = known, whole
	return nil
}

// folder returns an error if the folder for the file does not exist, so that the error
// comes even if the run meets no bad record.
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
	path, err := filepath.Abs(e.File) // the ledger may be read from another folder
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
// records are rare, and a ledger needs no closing.
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
// out. It ignores an incomplete last line.
func Read(path string) (entries []Entry, err error) {
	_, _, err = NewLedger(path).each(func(e Entry) { entries = append(entries, e) })
	return entries, err
}

// maxLine is the longest line that is read. A sparse file may be one line of any size.
const maxLine = 1 << 20

// each calls fn for the records that the file lists. It returns the size of the whole
// lines and that of the file.
func (l *Ledger) each(fn func(Entry)) (whole, all int64, err error) {
	f, info, err := regularfile.OpenFile(l.path)
	if err != nil {
		return 0, 0, l.ioError("read", err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, maxLine)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case err == nil:
		case err == io.EOF && number == 1 && len(line) > 0 && line[0] != '{':
			return 0, 0, notLedger(l.path, 1, errors.New("it does not begin with an object of JSON"))
		case err == io.EOF:
			return whole, info.Size(), nil
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, 0, notLedger(l.path, number, fmt.Errorf("the line has more than %d bytes", maxLine))
		default:
			return 0, 0, l.ioError("read", err)
		}
		e := Entry{Ordinal: -1, Offset: -1, Length: -1}
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, 0, notLedger(l.path, number, err)
		}
		if e.File == "" || e.Ordinal < 0 || e.Offset < 0 || e.Length < 0 {
			return 0, 0, notLedger(l.path, number, errors.New("file, ordinal, offset or length is missing"))
		}
		fn(e)
		whole += int64(len(line))
	}
}

func notLedger(path string, line int, cause error) error {
	e := millrace.Errorf(millrace.ErrConfig, "this is no ledger of bad records: %w; name another file", cause)
	e.File, e.Line = path, line
	return e
}
