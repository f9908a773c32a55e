// Package az reads and writes blobs of Azure Blob Storage: az://CONTAINER/BLOB.
//
//	store, err := az.New(&az.Options{Getenv: os.Getenv})
//	remote.Register("az", store)
package az

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"millrace"
	"millrace/remote"
	"millrace/remote/web"
)

// Options are the options of New.
type Options struct {
	// Getenv returns environment variables: AZURE_STORAGE_CONNECTION_STRING, or
	// AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN. With an account
	// alone the credentials are Azure's default ones, of the environment, the workload, the
	// instance or the command line tool. Programs pass os.Getenv; nil means that none is set.
	Getenv func(string) string

	// Transport carries out the requests; nil: one of [web.NewTransport].
	Transport http.RoundTripper
}

// Store is a [remote.WritableStore] of the scheme az.
type Store struct {
	client *service.Client
	base   string // "https://account.blob.core.windows.net"
}

// emulator is the connection string that "UseDevelopmentStorage=true" stands for. Its key is in
// Azure's documentation.
const emulator = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;" +
	"AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1"

// New returns a Store. It makes no request. Settings that are missing or wrong are an error of
// class millrace.ErrConfig.
func New(o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	env := o.Getenv
	if env == nil {
		env = func(string) string { return "" }
	}
	transport := o.Transport
	if transport == nil {
		transport = web.NewTransport()
	}
	client, err := connect(env, &service.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: transport},
		Retry:     policy.RetryOptions{MaxRetries: -1}, // package remote repeats requests
	}})
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(client.URL())
	if err != nil || u.Host == "" {
		return nil, millrace.Errorf(millrace.ErrConfig, "AZURE_STORAGE_CONNECTION_STRING names no address of a blob endpoint")
	}
	return &Store{client: client, base: u.Scheme + "://" + u.Host}, nil
}

// connect returns the client of the account that environment variables name.
func connect(env func(string) string, o *service.ClientOptions) (*service.Client, error) {
	if text := env("AZURE_STORAGE_CONNECTION_STRING"); text != "" {
		if strings.Contains(strings.ReplaceAll(text, " ", ""), "UseDevelopmentStorage=true") {
			text = emulator
		}
		c, err := service.NewClientFromConnectionString(text, o)
		if err != nil { // its text may have parts of the string
			return nil, millrace.Errorf(millrace.ErrConfig, "AZURE_STORAGE_CONNECTION_STRING is not a connection string; the portal shows it under access keys")
		}
		return c, nil
	}
	account := env("AZURE_STORAGE_ACCOUNT")
	if account == "" {
		return nil, millrace.Errorf(millrace.ErrConfig, "the account is not known; set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING")
	}
	if strings.ContainsAny(account, "/.:?# ") {
		return nil, millrace.Errorf(millrace.ErrConfig, "AZURE_STORAGE_ACCOUNT must be the name of an account, not an address")
	}
	at := "https://" + account + ".blob.core.windows.net/"
	if key := env("AZURE_STORAGE_KEY"); key != "" {
		shared, err := service.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrConfig, "AZURE_STORAGE_KEY is not a key: it must be base64")
		}
		return service.NewClientWithSharedKeyCredential(at, shared, o)
	}
	if sas := env("AZURE_STORAGE_SAS_TOKEN"); sas != "" {
		return service.NewClientWithNoCredential(at+"?"+strings.TrimPrefix(sas, "?"), o)
	}
	found, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: policy.ClientOptions{Transport: o.Transport}})
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrConfig, "there are no credentials for Azure; set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_CLIENT_ID")
	}
	return service.NewClient(at, found, o)
}

// split returns the container and the name of a blob.
func split(u string) (bucket, name string) {
	bucket, name, _ = strings.Cut(strings.TrimPrefix(u, "az://"), "/")
	return bucket, name
}

// blob returns the client of a blob.
func (s *Store) blob(u string) (*blockblob.Client, error) {
	bucket, name := split(u)
	if bucket == "" || name == "" {
		return nil, &remote.Failure{Msg: "the URL has no name", Advice: "write az://CONTAINER/BLOB", Err: fs.ErrInvalid}
	}
	return s.client.NewContainerClient(bucket).NewBlockBlobClient(name), nil
}

// Stat asks for the properties of a blob.
func (s *Store) Stat(ctx context.Context, u string) (remote.Info, error) {
	c, err := s.blob(u)
	if err != nil {
		return remote.Info{}, err
	}
	p, err := c.GetProperties(ctx, nil)
	if err != nil {
		return remote.Info{}, s.explain(err, toRead)
	}
	return info(p.ContentLength, p.LastModified, p.ETag), nil
}

// Open requests a range.
func (s *Store) Open(ctx context.Context, u string, r remote.Range) (*remote.Body, error) {
	c, err := s.blob(u)
	if err != nil {
		return nil, err
	}
	o := &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: r.From, Count: r.Bytes}}
	if r.Version != "" {
		o.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(r.Version))}}
	}
	a, err := c.DownloadStream(ctx, o)
	if err != nil {
		if r.From == 0 && status(err) == http.StatusRequestedRangeNotSatisfiable {
			return s.empty(ctx, u)
		}
		return nil, s.explain(err, toRead)
	}
	b := &remote.Body{ReadCloser: a.Body, Info: info(a.ContentLength, a.LastModified, a.ETag)}
	if a.ContentRange != nil {
		var ok bool
		if b.Offset, b.Size, ok = web.ParseContentRange(*a.ContentRange); !ok {
			b.Close()
			return nil, &remote.Failure{Msg: "the server's Content-Range is wrong", Retry: true}
		}
	}
	return b, nil
}

// empty returns the answer for a blob without bytes, from which no range can be had.
func (s *Store) empty(ctx context.Context, u string) (*remote.Body, error) {
	i, err := s.Stat(ctx, u)
	if err != nil {
		return nil, err
	}
	return &remote.Body{ReadCloser: http.NoBody, Info: i}, nil
}

// List yields the blobs of a container whose names begin with a prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[remote.Object, error] {
	bucket, name := split(prefix)
	return func(yield func(remote.Object, error) bool) {
		pages := s.client.NewContainerClient(bucket).NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &name})
		for pages.More() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(remote.Object{}, s.explain(err, toRead))
				return
			}
			if page.Segment == nil {
				continue
			}
			for _, o := range page.Segment.BlobItems {
				if o.Name == nil || o.Properties == nil {
					continue
				}
				i := info(o.Properties.ContentLength, o.Properties.LastModified, o.Properties.ETag)
				if !yield(remote.Object{URL: "az://" + bucket + "/" + *o.Name, Info: i}, nil) {
					return
				}
			}
		}
	}
}

// The roles that requests need.
const (
	toRead  = "Storage Blob Data Reader"
	toWrite = "Storage Blob Data Contributor"
)

// status returns the status of an answer, 0 for another error.
func status(err error) int {
	var r *azcore.ResponseError
	if errors.As(err, &r) {
		return r.StatusCode
	}
	return 0
}

// explain returns the error of a request with what to set. It shows only the server's code: the
// text of the error has the URL with a signature.
func (s *Store) explain(err error, role string) error {
	var r *azcore.ResponseError
	if !errors.As(err, &r) {
		return s.unanswered(err)
	}
	f := web.Refused(r.StatusCode, nil)
	if r.RawResponse != nil {
		f = web.Refused(r.StatusCode, r.RawResponse.Header)
	}
	if f.Err == remote.ErrChanged {
		return f
	}
	code := r.ErrorCode
	if code == "" {
		code = http.StatusText(r.StatusCode)
	}
	f.Msg = s.base + " answers " + millrace.Quote(code)
	switch code {
	case "ContainerNotFound":
		f.Advice = "there is no such container in the account; set AZURE_STORAGE_ACCOUNT to the container's account"
	case "BlobNotFound", "ResourceNotFound", "Not Found":
		f.Advice = "there is no such blob or container"
	case "AuthenticationFailed", "InvalidAuthenticationInfo":
		f.Advice = "AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN are not those of this account, or have expired; a clock that is wrong has the same effect"
	case "InvalidHeaderValue":
		f.Advice = "if it is Azurite, start it with --skipApiVersionCheck"
	case "NoAuthenticationInformation", "PublicAccessNotPermitted":
		f.Advice = "set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_CLIENT_ID"
	default:
		if f.Err == fs.ErrPermission {
			f.Advice = "the credentials lack the role " + role + " for the container"
		}
	}
	return f
}

// unanswered explains an error without an answer of the store.
func (s *Store) unanswered(err error) error {
	var unknown *net.DNSError
	var login *azidentity.AuthenticationFailedError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return &remote.Failure{Msg: "there is no host " + s.base, Advice: "set AZURE_STORAGE_ACCOUNT to the name of an account", Err: fs.ErrNotExist}
	case errors.As(err, &login):
		return &remote.Failure{Msg: "Azure refuses the credentials", Advice: "set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or run az login", Err: fs.ErrPermission}
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return &remote.Failure{Msg: s.base + " speaks http, not https", Advice: "set BlobEndpoint=http://... in AZURE_STORAGE_CONNECTION_STRING", Err: fs.ErrInvalid}
	}
	return err
}
