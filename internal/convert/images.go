package convert

import (
	"context"
	"image"
	_ "image/gif" // decoders of the headers
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"slices"

	"millrace/loaders/spec"
)

// imageFormat is the format of images, a row each: the file's bytes, and the class,
// which is the name of its folder.
var imageFormat = &format{
	name: "images", extensions: []string{".jpg", ".jpeg", ".png", ".gif"},
	survey: surveyImage, classes: classOf,
}

// The columns of images. The label is the place of the class in the order of names.
const (
	imageBytes = "image"
	imageLabel = "label"
	imageClass = "class"
	imagePath  = "path"
)

// classOf returns the class of an image.
func classOf(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return filepath.Base(filepath.Dir(path))
}

// surveyImage reads the header of an image.
func surveyImage(_ context.Context, path string) (*survey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, ioError(path, err)
	}
	defer f.Close()
	if _, _, err := image.DecodeConfig(f); err != nil {
		return nil, damaged(path, "an image", err)
	}
	return &survey{rows: 1, columns: []Column{
		scalar(imageBytes, spec.String, "string"), scalar(imageLabel, spec.Int, "int64"),
		scalar(imageClass, spec.String, "string"), scalar(imagePath, spec.String, "string"),
	}}, nil
}

// imageSource is one image.
type imageSource struct {
	path    string
	columns []Column
	classes []string
	done    bool
}

// openImages returns the format of images of these classes.
func openImages(classes []string) *format {
	f := *imageFormat
	f.open = func(path string, columns []Column) (source, error) {
		return &imageSource{path: path, columns: columns, classes: classes}, nil
	}
	return &f
}

func (s *imageSource) Close() error { return nil }

func (s *imageSource) next() (block, error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	content, err := os.ReadFile(s.path)
	if err != nil {
		return nil, ioError(s.path, err)
	}
	return &imageBlock{s, content}, nil
}

// imageBlock is the row of an image.
type imageBlock struct {
	*imageSource
	content []byte
}

func (b *imageBlock) rows() int     { return 1 }
func (b *imageBlock) row(int) int64 { return 1 }

func (b *imageBlock) read(v *values, column, _ int) error {
	c := &b.columns[column]
	class := classOf(b.path)
	switch c.Name {
	case imageBytes:
		v.texts = append(v.texts, b.content)
	case imageLabel:
		return v.integer(int64(slices.Index(b.classes, class)), c)
	case imageClass:
		v.texts = append(v.texts, []byte(class))
	case imagePath:
		v.texts = append(v.texts, []byte(b.path))
	default:
		v.missing = true
	}
	return nil
}
