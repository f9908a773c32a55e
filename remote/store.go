package remote

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"time"
)

// Store reads the objects of one scheme. Its methods may be called concurrently. A URL has
// the form that users write, "scheme://...", with its query if it has one.
//
// After an error that is not a [*Failure] the request is repeated: the connection failed.
type Store interface {
	// Stat describes an object.
	Stat(ctx context.Context, url string) (Info, error)

	// Open requests the bytes of r. The Body has the version that it is of, which the caller
	// compares with r.Version. The caller closes the Body. ctx covers the reading of the Body.
	Open(ctx context.Context, url string, r Range) (*Body, error)
}

// Lister is a Store that can list objects.
type Lister interface {
	Store

	// List yields the objects whose URLs begin with a prefix, sorted bytewise. An error
	// comes last.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
}

// Info describes an object.
type Info struct {
	Size    int64 // number of bytes
	ModTime time.Time
	Version string // identifies the contents; "" if the store does not know
}

// Object is an entry of a list.
type Object struct {
	URL string
	Info
}

// Range is a part of a version of an object.
type Range struct {
	From, Bytes int64
	Version     string // a store that can refuses another one with [ErrChanged]; "": any
}

// Body is the answer to a request for a range.
type Body struct {
	io.ReadCloser
	Info

	// Offset is the position of the first byte in the object. It differs from the requested
	// one if the server ignores ranges.
	Offset int64
}

// ErrChanged is the error about an object that was replaced while it was read.
var ErrChanged = errors.New("the object was replaced while it was read")

// Failure is the error of a request that a store has answered, or of one that need not be
// repeated.
type Failure struct {
	Msg    string        // what is wrong, on one line, without any secret
	Advice string        // what to do; may be ""
	Retry  bool          // repeating the request may help
	After  time.Duration // how long the server asks to wait; 0 if it does not
	Err    error         // fs.ErrNotExist, fs.ErrPermission, ErrChanged, or another cause
}

// Error returns what is wrong and what to do.
func (f *Failure) Error() string {
	if f.Advice == "" {
		return f.Msg
	}
	return f.Msg + "; " + f.Advice
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Missing reports whether the object, bucket or upload does not exist.
func (f *Failure) Missing() bool { return errors.Is(f.Err, fs.ErrNotExist) }

// Unusable returns a Store whose every request fails with an error.
func Unusable(err error) Store { return unusable{err} }

type unusable struct{ err error }

func (u unusable) failure() error { return &Failure{Msg: u.err.Error(), Err: u.err} }

func (u unusable) Stat(context.Context, string) (Info, error) { return Info{}, u.failure() }

func (u unusable) Open(context.Context, string, Range) (*Body, error) { return nil, u.failure() }

func (u unusable) List(context.Context, string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { yield(Object{}, u.failure()) }
}

func (u unusable) Put(context.Context, string, Part) error { return u.failure() }

func (u unusable) Begin(context.Context, string) (Multipart, error) { return nil, u.failure() }

func (u unusable) Remove(context.Context, string) error { return u.failure() }
