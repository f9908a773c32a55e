package main

import (
	"millrace/graph"
	"millrace/graph/op"
	"millrace/graph/tf1/reader"
	"millrace/tfbridge"
)

// tensor is a tensor of an example, with the name under which it is printed.
type tensor struct {
	name   string
	output tfbridge.Output
}

// program reads one kind of file. It is used for one graph.
type program interface {
	// prepare looks at the files before the graph is built.
	prepare(files []string) error
	// reader adds a reader.
	reader(s *graph.Scope) *reader.Reader
	// decode makes an example of a record.
	decode(s *graph.Scope, record tfbridge.Output) []tensor
}

// programs are the programs by the names on the command line.
var programs = map[string]func() program{
	"csv":     func() program { return csvProgram{} },
	"fixed":   func() program { return fixedProgram{} },
	"records": func() program { return &recordsProgram{} },
	"whole":   func() program { return wholeProgram{} },
}

// csvProgram reads lines of five whole numbers: four features and a label. An empty
// field is 1.
type csvProgram struct{}

const csvColumns = 5

func (csvProgram) prepare([]string) error { return nil }

func (csvProgram) reader(s *graph.Scope) *reader.Reader { return reader.NewTextLine(s, nil) }

func (csvProgram) decode(s *graph.Scope, record tfbridge.Output) []tensor {
	var defaults []tfbridge.Output
	for range csvColumns {
		defaults = append(defaults, s.Const([]int32{1}))
	}
	columns := op.DecodeCSV(s, record, defaults)
	if s.Err() != nil {
		return nil
	}
	features := graph.Pack(s, columns[:csvColumns-1], 0)
	return []tensor{{"features", features}, {"label", columns[csvColumns-1]}}
}

// fixedProgram reads the images of CIFAR-10: records of a byte that is the label, and
// the bytes of an image, colour by colour.
type fixedProgram struct{}

const (
	labelBytes                          = 1
	imageDepth, imageHeight, imageWidth = 3, 32, 32
	recordBytes                         = labelBytes + imageDepth*imageHeight*imageWidth
)

func (fixedProgram) prepare(files []string) error { return wholeRecords(files) }

func (fixedProgram) reader(s *graph.Scope) *reader.Reader {
	return reader.NewFixedLengthRecord(s, recordBytes, nil)
}

func (fixedProgram) decode(s *graph.Scope, record tfbridge.Output) []tensor {
	bytes := graph.DecodeRaw(s, record, tfbridge.Uint8, nil)
	label := graph.Cast(s, graph.Subscript(s, bytes, graph.At(0)), tfbridge.Int32)
	image := graph.Subscript(s, bytes, graph.Between(labelBytes, recordBytes))
	image = graph.Reshape(s, image, s.Const([]int64{imageDepth, imageHeight, imageWidth}))
	image = op.Transpose(s, image, s.Const([]int32{1, 2, 0}))
	return []tensor{{"label", label}, {"image", image}}
}

// recordsProgram reads TFRecord files of Examples. Their features are those of the
// first record.
type recordsProgram struct{ features *graph.ExampleFeatures }

func (p *recordsProgram) prepare(files []string) (err error) {
	p.features, err = firstFeatures(files)
	return err
}

func (p *recordsProgram) reader(s *graph.Scope) *reader.Reader { return reader.NewTFRecord(s, nil) }

func (p *recordsProgram) decode(s *graph.Scope, record tfbridge.Output) []tensor {
	parsed := graph.ParseSingleExample(s, record, p.features)
	var tensors []tensor
	for i, f := range p.features.Dense {
		tensors = append(tensors, tensor{f.Key, parsed.Dense[i]})
	}
	return tensors
}

// wholeProgram reads whole files.
type wholeProgram struct{}

func (wholeProgram) prepare([]string) error { return nil }

func (wholeProgram) reader(s *graph.Scope) *reader.Reader { return reader.NewWholeFile(s, nil) }

func (wholeProgram) decode(_ *graph.Scope, record tfbridge.Output) []tensor {
	return []tensor{{"value", record}}
}
