// Package gs reads and writes objects of Google Cloud Storage by its JSON interface.
//
//	store, err := gs.New(&gs.Options{Getenv: os.Getenv})
//	remote.Register("gs", store)
package gs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"millrace"
	"millrace/remote"
	"millrace/remote/web"
)

// Options are the options of New.
type Options struct {
	// Getenv returns environment variables: STORAGE_EMULATOR_HOST names an emulator, which
	// gets no credentials. Programs pass os.Getenv; nil means that none is set.
	Getenv func(string) string

	// Tokens sign the requests. Nil means Google's application default credentials: the file
	// that GOOGLE_APPLICATION_CREDENTIALS names, or gcloud's, or the credentials of the instance or
	// workload. Where there are none, requests are anonymous.
	Tokens oauth2.TokenSource

	// Transport carries out the requests; nil: one of [web.NewTransport].
	Transport http.RoundTripper
}

// Store is a [remote.Store] of the scheme gs.
type Store struct {
	base   string // "https://storage.googleapis.com"
	client *http.Client
	tokens [2]func() oauth2.TokenSource // one for each scope; nil: anonymous requests
}

// scope is what a request may do. Readers ask for no right to write.
type scope int

const (
	toRead scope = iota
	toWrite
)

var scopeNames = [...]string{"https://www.googleapis.com/auth/devstorage.read_only", "https://www.googleapis.com/auth/devstorage.read_write"}

// New returns a Store. It makes no request. An emulator's address that is not one is an
// error of class millrace.ErrConfig.
func New(o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Store{base: "https://storage.googleapis.com", client: &http.Client{Transport: o.Transport}}
	if o.Transport == nil {
		s.client.Transport = web.NewTransport()
	}
	emulator := ""
	if o.Getenv != nil {
		emulator = o.Getenv("STORAGE_EMULATOR_HOST")
	}
	switch {
	case emulator != "":
		if !strings.Contains(emulator, "://") {
			emulator = "http://" + emulator
		}
		u, err := url.Parse(emulator)
		if err != nil || u.Host == "" {
			return nil, millrace.Errorf(millrace.ErrConfig, "STORAGE_EMULATOR_HOST must be an address such as localhost:4443")
		}
		s.base = u.Scheme + "://" + u.Host
		s.useTokens(nil)
	case o.Tokens != nil:
		s.useTokens(o.Tokens)
	default:
		for i, name := range scopeNames {
			s.tokens[i] = sync.OnceValue(func() oauth2.TokenSource { return defaultTokens(name) })
		}
	}
	return s, nil
}

// useTokens uses the same tokens for all requests.
func (s *Store) useTokens(tokens oauth2.TokenSource) {
	for i := range s.tokens {
		s.tokens[i] = func() oauth2.TokenSource { return tokens }
	}
}

// defaultTokens returns the application default credentials, nil if there are none.
func defaultTokens(scope string) oauth2.TokenSource {
	found, err := google.FindDefaultCredentials(context.Background(), scope)
	if err != nil {
		return nil
	}
	return found.TokenSource
}

// get carries out a GET of a path of the interface.
func (s *Store) get(ctx context.Context, path string, query url.Values, head http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/storage/v1/b/"+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, &remote.Failure{Msg: "not a URL", Err: fs.ErrInvalid}
	}
	if head != nil {
		req.Header = head
	}
	return s.do(req, toRead)
}

// do carries out a request.
func (s *Store) do(req *http.Request, may scope) (*http.Response, error) {
	if tokens := s.tokens[may](); tokens != nil {
		token, err := tokens.Token()
		if err != nil {
			return nil, &remote.Failure{Msg: "there is no token for Google Cloud Storage", Retry: true, Err: fs.ErrPermission,
				Advice: "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, or run gcloud auth application-default login"}
		}
		token.SetAuthHeader(req)
	}
	return s.client.Do(req)
}

// split returns the bucket and the name of an object.
func split(u string) (bucket, name string) {
	bucket, name, _ = strings.Cut(strings.TrimPrefix(u, "gs://"), "/")
	return bucket, name
}

// Stat asks for the attributes of an object.
func (s *Store) Stat(ctx context.Context, u string) (remote.Info, error) {
	var o object
	bucket, name := split(u)
	if bucket == "" || name == "" {
		return remote.Info{}, &remote.Failure{Msg: "the URL has no name", Advice: "write gs://BUCKET/NAME", Err: fs.ErrInvalid}
	}
	err := s.ask(ctx, bucket+"/o/"+url.PathEscape(name), url.Values{"fields": {"size,updated,generation"}}, &o)
	return o.info(), err
}

// object is an object as the interface describes it.
type object struct {
	Name       string    `json:"name"`
	Size       int64     `json:"size,string"`
	Updated    time.Time `json:"updated"`
	Generation string    `json:"generation"`
}

func (o object) info() remote.Info {
	return remote.Info{Size: o.Size, ModTime: o.Updated, Version: o.Generation}
}

// ask reads an answer in JSON.
func (s *Store) ask(ctx context.Context, path string, query url.Values, to any) error {
	a, err := s.get(ctx, path, query, nil)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return s.refused(a, toRead)
	}
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return &remote.Failure{Msg: s.base + " answers something else than JSON", Retry: true, Err: err}
	}
	return nil
}

// Open requests a range of a generation.
func (s *Store) Open(ctx context.Context, u string, r remote.Range) (*remote.Body, error) {
	bucket, name := split(u)
	if bucket == "" || name == "" {
		return nil, &remote.Failure{Msg: "the URL has no name", Advice: "write gs://BUCKET/NAME", Err: fs.ErrInvalid}
	}
	query := url.Values{"alt": {"media"}}
	if r.Version != "" {
		query.Set("ifGenerationMatch", r.Version)
	}
	head := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", r.From, r.From+r.Bytes-1)}}
	a, err := s.get(ctx, bucket+"/o/"+url.PathEscape(name), query, head)
	if err != nil {
		return nil, err
	}
	b := &remote.Body{ReadCloser: a.Body, Info: remote.Info{Size: a.ContentLength, Version: a.Header.Get("X-Goog-Generation")}}
	b.ModTime, _ = http.ParseTime(a.Header.Get("Last-Modified"))
	var ok bool
	switch a.StatusCode {
	case http.StatusOK:
		ok = b.Size >= 0
	case http.StatusPartialContent:
		b.Offset, b.Size, ok = web.ParseContentRange(a.Header.Get("Content-Range"))
	case http.StatusRequestedRangeNotSatisfiable: // the object is empty
		_, b.Size, ok = web.ParseContentRange(a.Header.Get("Content-Range"))
		b.ReadCloser = http.NoBody
		ok = ok && b.Size <= r.From
		a.Body.Close()
	default:
		defer a.Body.Close()
		return nil, s.refused(a, toRead)
	}
	if !ok {
		a.Body.Close()
		return nil, &remote.Failure{Msg: s.base + " does not say how large the object is", Retry: true}
	}
	return b, nil
}

// List yields the objects of a bucket whose names begin with a prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[remote.Object, error] {
	bucket, name := split(prefix)
	return func(yield func(remote.Object, error) bool) {
		query := url.Values{"prefix": {name}, "fields": {"nextPageToken,items(name,size,updated,generation)"}}
		for {
			var page struct {
				Next  string   `json:"nextPageToken"`
				Items []object `json:"items"`
			}
			if err := s.ask(ctx, bucket+"/o", query, &page); err != nil {
				yield(remote.Object{}, err)
				return
			}
			for _, o := range page.Items {
				if !yield(remote.Object{URL: "gs://" + bucket + "/" + o.Name, Info: o.info()}, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			query.Set("pageToken", page.Next)
		}
	}
}

// rights are the permissions that requests need.
var rights = [...]string{"storage.objects.get or storage.objects.list", "storage.objects.create or storage.objects.delete"}

// refused returns the error of an answer with what to set.
func (s *Store) refused(a *http.Response, may scope) error {
	f := web.Refused(a.StatusCode, a.Header)
	if f.Err == remote.ErrChanged {
		return f
	}
	f.Msg = s.base + " answers " + strconv.Itoa(a.StatusCode) + " " + http.StatusText(a.StatusCode)
	switch a.StatusCode {
	case http.StatusNotFound:
		f.Advice = "there is no such bucket or object; set STORAGE_EMULATOR_HOST if it is in an emulator"
	case http.StatusUnauthorized:
		f.Advice = "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, or run gcloud auth application-default login"
	case http.StatusForbidden:
		f.Advice = "the credentials lack " + rights[may] + " for the bucket; GOOGLE_APPLICATION_CREDENTIALS names others"
	}
	return f
}
