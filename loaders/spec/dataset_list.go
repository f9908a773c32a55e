package spec

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/remote"
)

const (
	maxLine         = 8 << 10   // bytes of a line of a list
	maxList         = 256 << 20 // bytes of a list
	maxListProblems = 1000      // problems of a list that are reported individually
)

// schemes are the URL schemes of the file systems in the runtime.
var schemes = []string{"file", "gs", "ram"}

// readable returns the sorted schemes that can be read.
func readable() []string {
	all := append(remote.Default.Schemes(), schemes...)
	slices.Sort(all)
	return slices.Compact(all)
}

// listReader reads a list of data files.
type listReader struct {
	*checker
	line   int
	paths  map[string]int // lines by path
	files  map[fileID]int // lines by the identity of their file
	counts [2]int         // number of problems by severity, including those beyond maxProblems
	sum    hash.Hash
	remote bool // whether a remote file was warned of
}

// readList reads the list that a node of the config names.
func (c datasetPart) readList(at *jsonpos.Node) {
	f, err := c.disk.openRegular(c.spec.ListPath)
	if err != nil {
		c.unreadable(at, "list", c.spec.ListPath, err)
		return
	}
	defer f.Close()
	l := &listReader{checker: c.checker, paths: make(map[string]int), files: make(map[fileID]int), sum: sha256.New()}
	if err := l.read(io.TeeReader(io.LimitReader(f, maxList+1), l.sum)); err != nil {
		c.unreadable(at, "list", c.spec.ListPath, err)
		return
	}
	l.look()
	if len(c.spec.Files) == 0 && l.counts[diag.Error] == 0 {
		c.loose = append(c.loose, &diag.Diagnostic{
			File: c.spec.ListPath, Msg: "the list names 0 files", Class: millrace.ErrConfig,
		})
	}
	c.spec.ListSHA256 = fmt.Sprintf("%x", l.sum.Sum(nil))
}

// report adds an error of the current line.
func (l *listReader) report(class millrace.Class, format string, args ...any) *diag.Diagnostic {
	return l.add(diag.Error, class, format, args)
}

// warn adds a warning of the current line.
func (l *listReader) warn(format string, args ...any) {
	l.add(diag.Warning, millrace.ErrConfig, format, args)
}

func (l *listReader) add(s diag.Severity, class millrace.Class, format string, args []any) *diag.Diagnostic {
	d := &diag.Diagnostic{File: l.spec.ListPath, Line: l.line, Severity: s, Class: class}
	switch l.counts[s]++; {
	case l.counts[s] > maxListProblems+1:
		return d
	case l.counts[s] == maxListProblems+1:
		d.Msg = "more problems follow and are not shown"
		l.loose = append(l.loose, d)
		return &diag.Diagnostic{} // a caller's hint would be about another problem
	default:
		d.Msg = fmt.Sprintf(format, args...)
	}
	l.loose = append(l.loose, d)
	return d
}

// read reads all lines. It stops when the list or a line is too long.
func (l *listReader) read(r io.Reader) error {
	in, total := bufio.NewReaderSize(r, maxLine), 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		l.line++
		switch total += len(line); {
		case errors.Is(err, bufio.ErrBufferFull):
			l.report(millrace.ErrLimit, "a line of more than %d bytes", maxLine)
			return nil
		case total > maxList:
			l.report(millrace.ErrLimit, "a list of more than %d MiB", maxList>>20)
			return nil
		case len(l.spec.Files) > maxFiles:
			l.report(millrace.ErrLimit, "more than %d files", maxFiles)
			return nil
		}
		if l.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if text := strings.Trim(string(line), " \t\r\n"); text != "" {
			l.path(text)
		}
		if err == io.EOF {
			return nil
		}
	}
}

// path checks the path of one line and adds its file.
func (l *listReader) path(path string) {
	if strings.ContainsRune(path, 0) {
		l.report(millrace.ErrConfig, "a NUL in the path %s", millrace.QuoteData([]byte(path)))
		return
	}
	listed := path
	path = withoutFileScheme(path)
	relative := !remote.IsURL(path) && !filepath.IsAbs(path)
	if relative {
		path = join(dirOf(l.spec.ListPath), path)
	}
	scheme, isURL := schemeOf(path)
	if isURL {
		path = remote.Default.Conceal(path)
		if !relative {
			listed = path
		}
	}
	if first, ok := l.paths[path]; ok {
		l.warn("%s is listed in line %d already; it is read again", PrintablePath(path), first)
	} else {
		l.paths[path] = l.line
	}
	f := DataFile{Path: path, Name: listed, ListLine: l.line, Size: -1}
	if isURL {
		f.Remote = true
		if l.scheme(scheme, path) {
			l.spec.Files = append(l.spec.Files, f)
		}
		return
	}
	if l.local(&f, relative) {
		l.spec.Files = append(l.spec.Files, f)
	}
}

func (l *listReader) scheme(scheme, path string) bool {
	if l.disk.root != nil {
		l.report(millrace.ErrConfig, "%s leads out of %s", PrintablePath(path), millrace.Quote(l.disk.dir))
		return false
	}
	if remote.Default.Reads(path) {
		return true // a look at all such files follows
	}
	if slices.Contains(schemes, scheme) {
		if !l.remote {
			l.remote = true
			l.warn("%s is remote; remote files are not looked at beforehand, so one that was cut can pass for a shorter one", PrintablePath(path))
		}
		return true
	}
	d := l.report(millrace.ErrConfig, "unknown scheme %s in %s", decl.Quote(scheme), PrintablePath(path))
	d.Hint = "this program reads paths without a scheme and those of " + strings.Join(readable(), ", ")
	return false
}

// local checks the file of a path without a scheme.
func (l *listReader) local(f *DataFile, relative bool) bool {
	info, err := l.disk.stat(f.Path)
	if err == nil {
		err = notRegular(info)
	}
	if err != nil {
		d := l.report(classOf(err), "%s: %v", millrace.Quote(f.Path), reason(err))
		d.Cause = err
		switch {
		case strings.ContainsAny(f.Path, "~$*?"):
			d.Hint = "~, $ and * mean nothing here"
		case relative:
			d.Hint = "a relative path starts at the list's folder"
		}
		return false
	}
	f.Size = info.Size()
	id, ok := identify(info)
	first, again := l.files[id]
	switch {
	case !ok:
	case !again:
		l.files[id] = l.line
	case l.paths[f.Path] == l.line:
		l.warn("%s is the same file as in line %d; it is read again", millrace.Quote(f.Path), first)
	}
	return true
}
