// Package s3 reads and writes objects of Amazon S3 and of servers with its interface.
//
//	store, err := s3.New(&s3.Options{Getenv: os.Getenv})
//	remote.Register("s3", store)
package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"millrace"
	"millrace/remote"
	"millrace/remote/web"
)

// Options are the options of New.
type Options struct {
	// Getenv returns environment variables: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL,
	// AWS_REGION, AWS_DEFAULT_REGION, AWS_PROFILE and AWS_NO_SIGN_REQUEST. Programs pass
	// os.Getenv; nil means that none is set.
	Getenv func(string) string

	// Credentials sign the requests. Nil means the environment's, then those in the
	// profile in ~/.aws/credentials, then of the workload or instance.
	Credentials *credentials.Credentials

	// Transport carries out the requests; nil: one of [web.NewTransport].
	Transport http.RoundTripper
}

// Store is a [remote.Store] of the scheme s3.
type Store struct {
	core      minio.Core
	endpoint  string
	anonymous bool
	creds     *credentials.Credentials
}

const amazon = "https://s3.amazonaws.com"

// New returns a Store. It makes no request. An endpoint that is not a URL is an error of
// class millrace.ErrConfig.
func New(o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	env := o.Getenv
	if env == nil {
		env = func(string) string { return "" }
	}
	first := func(names ...string) string {
		for _, n := range names {
			if v := env(n); v != "" {
				return v
			}
		}
		return ""
	}
	endpoint, region := first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), first("AWS_REGION", "AWS_DEFAULT_REGION")
	if endpoint == "" {
		endpoint = amazon
	} else if region == "" {
		region = "us-east-1" // other servers accept it, and it saves the request for the region
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, millrace.Errorf(millrace.ErrConfig, "AWS_ENDPOINT_URL must be a URL such as http://localhost:9000")
	}
	s := &Store{endpoint: u.Scheme + "://" + u.Host, anonymous: truth(env("AWS_NO_SIGN_REQUEST")), creds: o.Credentials}
	transport := o.Transport
	if transport == nil {
		transport = web.NewTransport()
	}
	if s.creds == nil {
		s.creds = credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{Profile: env("AWS_PROFILE")}, &credentials.IAM{},
		})
	}
	if s.anonymous {
		s.creds = credentials.NewStaticV4("", "", "")
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: s.creds, Secure: u.Scheme == "https", Region: region, Transport: transport, MaxRetries: 1,
	})
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrConfig, "AWS_ENDPOINT_URL: %w", err)
	}
	s.core.Client = client
	return s, nil
}

func truth(text string) bool {
	switch strings.ToLower(text) {
	case "1", "true", "yes":
		return true
	}
	return false
}

// split returns the bucket and the key of a URL.
func split(url string) (bucket, key string) {
	rest := strings.TrimPrefix(url, "s3://")
	bucket, key, _ = strings.Cut(rest, "/")
	return bucket, key
}

// Stat requests the first byte, because the answer to a GET says what is wrong and the
// answer to a HEAD does not.
func (s *Store) Stat(ctx context.Context, url string) (remote.Info, error) {
	b, err := s.Open(ctx, url, remote.Range{Bytes: 1})
	if err != nil {
		return remote.Info{}, err
	}
	b.Close()
	return b.Info, nil
}

// Open requests a range.
func (s *Store) Open(ctx context.Context, url string, r remote.Range) (*remote.Body, error) {
	bucket, key := split(url)
	if bucket == "" || key == "" {
		return nil, &remote.Failure{Msg: "the URL has no key", Advice: "write s3://BUCKET/KEY", Err: fs.ErrInvalid}
	}
	var o minio.GetObjectOptions
	if err := o.SetRange(r.From, r.From+r.Bytes-1); err != nil {
		return nil, &remote.Failure{Msg: "a range of no bytes", Err: err}
	}
	if r.Version != "" {
		if err := o.SetMatchETag(r.Version); err != nil {
			return nil, &remote.Failure{Msg: "a version that is not an ETag", Err: err}
		}
	}
	body, info, head, err := s.core.GetObject(ctx, bucket, key, o)
	if isCode(err, "InvalidRange") && r.From == 0 {
		return s.empty(ctx, bucket, key)
	}
	if err != nil {
		return nil, s.explain(err, bucket, toRead)
	}
	b := &remote.Body{ReadCloser: body, Info: remote.Info{Size: info.Size, ModTime: info.LastModified, Version: info.ETag}}
	if text := head.Get("Content-Range"); text != "" {
		var ok bool
		if b.Offset, b.Size, ok = web.ParseContentRange(text); !ok {
			body.Close()
			return nil, &remote.Failure{Msg: "the server's Content-Range is wrong", Retry: true}
		}
	}
	return b, nil
}

// empty returns the answer for an object without bytes, from which no range can be had.
func (s *Store) empty(ctx context.Context, bucket, key string) (*remote.Body, error) {
	info, err := s.core.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return nil, s.explain(err, bucket, toRead)
	}
	return &remote.Body{ReadCloser: http.NoBody, Info: remote.Info{Size: info.Size, ModTime: info.LastModified, Version: info.ETag}}, nil
}

// List yields the objects of a bucket whose keys begin with a prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[remote.Object, error] {
	bucket, key := split(prefix)
	return func(yield func(remote.Object, error) bool) {
		for o := range s.core.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: key, Recursive: true}) {
			if o.Err != nil {
				yield(remote.Object{}, s.explain(o.Err, bucket, toRead))
				return
			}
			info := remote.Info{Size: o.Size, ModTime: o.LastModified, Version: o.ETag}
			if !yield(remote.Object{URL: "s3://" + bucket + "/" + o.Key, Info: info}, nil) {
				return
			}
		}
	}
}

// isCode reports whether a server answered with an error code.
func isCode(err error, code string) bool {
	var r minio.ErrorResponse
	return errors.As(err, &r) && r.Code == code
}

// explain returns the error of a request with what to set. rights are those that it needs. It shows only the server's code:
// its message may have parts of the request.
func (s *Store) explain(err error, bucket, rights string) error {
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
			return &remote.Failure{Msg: s.endpoint + " speaks http, not https", Advice: "set AWS_ENDPOINT_URL to http://" + strings.TrimPrefix(s.endpoint, "https://"), Err: fs.ErrInvalid}
		}
		return err
	}
	f := web.Refused(r.StatusCode, nil)
	f.Msg = fmt.Sprintf("%s answers %s", s.endpoint, r.Code)
	switch r.Code {
	case "NoSuchBucket":
		f.Err, f.Advice = fs.ErrNotExist, fmt.Sprintf("there is no bucket %s; set AWS_ENDPOINT_URL if it is on another server", millrace.Quote(bucket))
	case "NoSuchUpload":
		f.Err, f.Advice = fs.ErrNotExist, "the upload was removed; a rule of the bucket may end uploads"
	case "NoSuchKey":
		f.Err, f.Advice = fs.ErrNotExist, "there is no such object in the bucket"
	case "AccessDenied":
		f.Err, f.Advice = fs.ErrPermission, s.credentialsAdvice(rights)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		f.Err, f.Advice = fs.ErrPermission, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile AWS_PROFILE, are not those of this server"
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired":
		s.creds.Expire() // the next request gets new ones, where they can be had
		f.Err, f.Retry, f.Advice = fs.ErrPermission, true, "get new temporary credentials (AWS_SESSION_TOKEN)"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
		f.Err, f.Advice = fs.ErrInvalid, "set AWS_REGION to the region of the bucket"
		if r.Region != "" {
			f.Advice = "set AWS_REGION=" + millrace.Quote(r.Region)
		}
	case "RequestTimeTooSkewed":
		f.Err, f.Advice = fs.ErrInvalid, "set the clock of this machine"
	case "PreconditionFailed":
		f.Err, f.Msg, f.Advice = remote.ErrChanged, remote.ErrChanged.Error(), ""
	case "SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "XMinioServerNotInitialized":
		f.Retry = true
	}
	return f
}

// toRead are the rights that readers need.
const toRead = "s3:GetObject or s3:ListBucket"

// credentialsAdvice says where credentials come from, and which rights they need.
func (s *Store) credentialsAdvice(rights string) string {
	if v, err := s.creds.GetWithContext(nil); s.anonymous || err == nil && v.AccessKeyID == "" {
		return "the request was not signed; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	}
	return "the credentials lack " + rights + " for the bucket; set AWS_PROFILE or AWS_ACCESS_KEY_ID to others"
}
