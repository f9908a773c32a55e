package convert

import (
	"context"
	"io"
	"path/filepath"
	"slices"

	"millrace/loaders/spec"
)

// fileKind is a kind of file that becomes one row.
type fileKind struct {
	name       string
	extensions []string

	// survey returns the columns of a file's content, from its header.
	survey func(path string) ([]Column, error)

	// open reads a file of at most maxRecord bytes.
	open func(path string) (content, error)
}

// content is the content of a file.
type content struct {
	bytes int64 // memory that it takes
	read  func(v *values, c *Column) error
}

// The columns of each file in addition to its content. The label is the index of the
// class in the order of names.
const (
	fileLabel = "label"
	fileClass = "class"
	filePath  = "path"
)

// classOf returns the class of a file: the name of its folder.
func classOf(path string) string {
	return filepath.Base(folderOf(path))
}

// format returns the format of files of this kind.
func (k *fileKind) format() *format {
	return &format{
		name: k.name, extensions: k.extensions,
		survey: k.surveyFile, withClasses: k.withClasses,
	}
}

func (k *fileKind) surveyFile(_ context.Context, path string) (s *survey, err error) {
	defer recovered(path, k.name, &err)
	columns, err := k.survey(path)
	if err != nil {
		return nil, err
	}
	return &survey{rows: 1, columns: append(columns, scalar(fileLabel, spec.Int, "int64"),
		scalar(fileClass, spec.String, "string"), scalar(filePath, spec.String, "string"))}, nil
}

// withClasses returns the format of files of these classes.
func (k *fileKind) withClasses(classes []string) *format {
	f := k.format()
	f.open = func(path string, columns []Column) (source, error) {
		return &fileSource{kind: k, path: path, columns: columns, classes: classes}, nil
	}
	return f
}

// fileSource is one file.
type fileSource struct {
	kind    *fileKind
	path    string
	columns []Column
	classes []string
	done    bool
}

func (s *fileSource) Close() error { return nil }

func (s *fileSource) next() (b block, err error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	defer recovered(s.path, s.kind.name, &err)
	content, err := s.kind.open(s.path)
	if err != nil {
		return nil, err
	}
	return &fileBlock{s, content}, nil
}

// fileBlock is the row of a file.
type fileBlock struct {
	*fileSource
	content content
}

func (b *fileBlock) rows() int     { return 1 }
func (b *fileBlock) row(int) int64 { return 1 }
func (b *fileBlock) size() int64   { return b.content.bytes }

func (b *fileBlock) read(v *values, column, _ int) error {
	c := &b.columns[column]
	class := classOf(b.path)
	switch c.Name {
	case fileLabel:
		return v.integer(int64(slices.Index(b.classes, class)), c)
	case fileClass:
		v.texts = append(v.texts, []byte(class))
	case filePath:
		v.texts = append(v.texts, []byte(b.path))
	default:
		return b.content.read(v, c)
	}
	return nil
}
