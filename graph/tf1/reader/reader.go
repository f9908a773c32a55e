package reader

import (
	"cmp"
	"fmt"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// Reader is a reader in a graph, of whatever file format.
type Reader struct {
	name   string
	opType string
	handle tfbridge.Output
}

// Options are the options of all readers. Nil and the zero value mean the defaults.
type Options struct {
	Name       string // name of the reader's operation; "": the operation's type
	SharedName string // readers of one session with the same SharedName are one reader; "": none is shared
	Container  string // the resource container that holds the reader; "": the session's default
}

// newReader adds a reader unless err is set, which describes a fault in the attributes.
func newReader(s *graph.Scope, opType string, attrs map[string]any, o *Options, err error) *Reader {
	if o == nil {
		o = &Options{}
	}
	r := &Reader{name: cmp.Or(o.Name, opType), opType: opType}
	if err != nil {
		r.fail(s, err)
		return r
	}
	attrs["shared_name"], attrs["container"] = o.SharedName, o.Container
	if op := s.AddOperation(tfbridge.OpSpec{Type: opType, Name: r.name, Attrs: attrs}); op != nil {
		r.handle, r.name = op.Output(0), op.Name()
	}
	return r
}

// Name returns the name of the reader's operation in the graph.
func (r *Reader) Name() string { return r.name }

// String names the reader in messages.
func (r *Reader) String() string { return fmt.Sprintf("reader %q (%s)", r.name, r.opType) }

// fail makes err, about this reader, the scope's failure.
func (r *Reader) fail(s *graph.Scope, err error) { s.UpdateErr(r.String(), err) }

// Read adds an operation that reads the next record of the files that the queue
// names. Key and value are scalar strings. The queue's elements are scalar strings.
//
// It wraps ReaderReadV2, or MillraceReaderRead for the reader of [NewTFRecord], which
// reads in the thread of the run.
func (r *Reader) Read(s *graph.Scope, files *queue.Queue) (key, value tfbridge.Output) {
	if !r.takes(s, files) {
		return
	}
	opType := "ReaderReadV2"
	if r.opType == TFRecordOp {
		opType = "MillraceReaderRead"
	}
	kv := s.Op(opType, nil, r.handle, files.Handle())
	if !s.InFunction() { // the body of a function has no collections
		s.AddToCollection(sources, Source{Reader: r, Files: files})
	}
	return kv[0], kv[1]
}

// Source is a reader and the queue of names of the files that it reads.
type Source struct {
	Reader *Reader
	Files  *queue.Queue
}

// sources is the key of the graph's collection of Sources.
const sources = "reader_sources"

// Sources returns a Source for each call of [Reader.Read] in the graph, outside of
// functions, in their order.
func Sources(s *graph.Scope) []Source {
	var all []Source
	for _, source := range s.Collection(sources) {
		all = append(all, source.(Source))
	}
	return all
}

// takes reports whether the reader can take file names from a queue. Otherwise it
// makes the reason the scope's failure.
func (r *Reader) takes(s *graph.Scope, files *queue.Queue) bool {
	if s.Err() != nil {
		return false
	}
	if files == nil {
		r.fail(s, millrace.Errorf(millrace.ErrModel, "the queue of file names is nil"))
		return false
	}
	c := files.Components()
	if len(c) != 1 || c[0].DType != tfbridge.String || !c[0].Shape.IsCompatibleWith(tfbridge.ScalarShape()) {
		r.fail(s, millrace.Errorf(millrace.ErrModel, "%v has elements %v; file names are one scalar string each", files, c))
		return false
	}
	return true
}
