package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	"millrace"
	"millrace/internal/base/uninterruptible"
)

// SavedModel is a model that was loaded from a directory. Many goroutines may run
// it concurrently. Close frees its session and graph.
type SavedModel struct {
	Session *Session
	Graph   *Graph
	// Signatures are the ways to run the model, by key: "serving_default".
	Signatures map[string]Signature
	// MetaGraph describes the model: a serialized MetaGraphDef message.
	MetaGraph []byte
	// Inline makes Run execute operations in the calling thread, as
	// [Callable.Inline] does. Set it before the first Run.
	Inline bool
	// AnyShape makes Run accept inputs of another shape than the signature's:
	// TensorFlow's operations then check the shapes. Set it before the first Run.
	AnyShape bool

	prepared sync.Map // *preparedSignature values by preparedKey
}

// LoadSavedModel loads the part of a model that has all of tags ("serve"), and restores
// its variables. Beyond TensorFlow's own checks it checks nothing; package savedmodel
// does.
//
// It wraps TF_LoadSessionFromSavedModel.
func LoadSavedModel(dir string, tags []string, o *SessionOptions) (*SavedModel, error) {
	g := NewGraph()
	m, err := loadSavedModel(g, dir, tags, o)
	if err != nil {
		g.Close()
		return nil, err
	}
	return m, nil
}

// NewSavedModel returns the model whose graph was imported, and whose variables were
// restored, in a session. meta is its description, a serialized MetaGraphDef message.
// The model owns session and graph afterwards; after an error they stay the caller's.
func NewSavedModel(s *Session, meta []byte) (*SavedModel, error) {
	if s == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "there is no session: it is nil")
	}
	signatures, err := parseSignatures(meta)
	if err != nil {
		return nil, err
	}
	return &SavedModel{Session: s, Graph: s.Graph(), Signatures: signatures, MetaGraph: meta}, nil
}

// loadSavedModel loads a model into an empty graph.
func loadSavedModel(g *Graph, dir string, tags []string, o *SessionOptions) (*SavedModel, error) {
	if err := g.hold(); err != nil {
		return nil, err
	}
	defer g.release()
	if err := checkNames("name", append([]string{dir}, tags...)...); err != nil {
		return nil, err
	}
	opts, err := o.c()
	if err != nil {
		return nil, err
	}
	defer C.TF_DeleteSessionOptions(opts)
	if err := blocking.acquire(context.Background(), nil); err != nil {
		return nil, err
	}
	defer blocking.release()
	var cs cstrings
	defer cs.free()
	cTags := cs.addAll(tags)
	var p *C.TF_Session
	meta, err := bufferBytes("TF_LoadSessionFromSavedModel", func(b *C.TF_Buffer, st *C.TF_Status) {
		p = C.TF_LoadSessionFromSavedModel(opts, nil, cs.add(dir), unsafe.SliceData(cTags), C.int(len(tags)), g.ptr(), b, st)
	})
	if err != nil {
		return nil, errLoad(dir, err)
	}
	m := &SavedModel{Session: adoptSession(p, g, o), Graph: g, MetaGraph: meta}
	if m.Signatures, err = parseSignatures(meta); err != nil {
		m.Session.Close()
		return nil, errLoad(dir, err)
	}
	return m, nil
}

// errLoad returns the error about a model that could not be loaded. Its class does not
// follow from TensorFlow's code.
func errLoad(dir string, err error) error {
	var tf *Error
	if errors.As(err, &tf) && tf.Code == ResourceExhausted {
		return &millrace.Error{Class: millrace.ErrLimit, Op: "load model", File: dir, Record: -1, Offset: -1, Code: int(tf.Code), Err: tf}
	}
	e := &millrace.Error{Class: millrace.ErrModel, Op: "load model", File: dir, Record: -1, Offset: -1, Err: err}
	if tf != nil {
		e.Code, e.Err = int(tf.Code), tf
	}
	return e
}

// Close closes session and graph.
func (m *SavedModel) Close() error {
	if m == nil {
		return nil
	}
	return errors.Join(m.Session.Close(), m.Graph.Close())
}

// LoadSavedModelContext is LoadSavedModel that returns when ctx is done, with an error
// of class millrace.ErrCanceled. TensorFlow cannot stop loading: it continues in the
// background, and the model is closed when it ends.
//
// It wraps TF_LoadSessionFromSavedModel.
func LoadSavedModelContext(ctx context.Context, dir string, tags []string, o *SessionOptions) (*SavedModel, error) {
	return uninterruptible.Run(ctx, func() (*SavedModel, error) { return LoadSavedModel(dir, tags, o) })
}
