package remotetest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// AzureAccount is the connection string of the account in Azure's interface.
const AzureAccount = "AccountName=account;AccountKey=c2VjcmV0LTlmOGU3ZA==;BlobEndpoint=http://az.test/account"

// azurePath begins the paths of Azure's interface.
const azurePath = "/account/"

// isAzure reports whether a request is to Azure's interface.
func isAzure(r *http.Request) bool { return azureHeader(r, "x-ms-version") != "" }

// azureHeader returns a header. Azure's client writes the names in lower case, which
// [http.Header] does only for requests over a connection.
func azureHeader(r *http.Request, name string) string {
	if v := r.Header[name]; len(v) > 0 {
		return v[0]
	}
	return r.Header.Get(name)
}

// azure answers a request to Azure's interface.
func (s *Server) azure(r *http.Request, f Fault) (*http.Response, error) {
	plain := r.Clone(r.Context())
	plain.URL.Path = "/" + strings.TrimPrefix(r.URL.Path, azurePath)
	if span := azureHeader(r, "x-ms-range"); span != "" {
		plain.Header.Set("Range", span)
	}
	switch r.Method {
	case http.MethodPut, http.MethodDelete:
		return s.azureWrite(plain, f)
	}
	if r.URL.Query().Get("comp") == "list" {
		return s.azureList(plain), nil
	}
	return azureCode(s.get(plain, f)), nil
}

// azureCode renames the codes of S3's interface.
func azureCode(a *http.Response) *http.Response {
	code := map[int]string{404: "BlobNotFound", 412: "ConditionNotMet", 416: "InvalidRange"}[a.StatusCode]
	if code != "" {
		a.Header.Set("x-ms-error-code", code)
	}
	return a
}

// azureWrite stores a blob, or one of its blocks.
func (s *Server) azureWrite(r *http.Request, f Fault) (*http.Response, error) {
	data, err := sentBody(r, f)
	if err != nil {
		return nil, err
	}
	path := r.URL.Path
	switch q := r.URL.Query(); {
	case r.Method == http.MethodDelete && s.Object(path) == nil:
		return azureCode(answer(r, http.StatusNotFound, nil)), nil
	case r.Method == http.MethodDelete:
		s.Delete(path)
		return answer(r, http.StatusAccepted, nil), nil
	case q.Get("comp") == "block":
		s.mu.Lock()
		s.blocks[path+"?"+q.Get("blockid")] = data
		s.mu.Unlock()
	case q.Get("comp") == "blocklist":
		var list struct{ Latest []string }
		if err := xml.Unmarshal(data, &list); err != nil {
			return answer(r, http.StatusBadRequest, nil), nil
		}
		var all []byte
		s.mu.Lock()
		for _, id := range list.Latest {
			all = append(all, s.blocks[path+"?"+id]...)
		}
		s.mu.Unlock()
		s.Put(path, all)
	default:
		s.Put(path, bytes.Clone(data))
	}
	return answer(r, http.StatusCreated, nil), nil
}

// azureList lists a container, a page of two blobs at a time.
func (s *Server) azureList(r *http.Request) *http.Response {
	type properties struct {
		Size     int    `xml:"Content-Length"`
		Modified string `xml:"Last-Modified"`
		Etag     string
	}
	type item struct {
		Name       string
		Properties properties
	}
	var out struct {
		XMLName    xml.Name `xml:"EnumerationResults"`
		Blobs      struct{ Blob []item }
		NextMarker string
	}
	container := strings.TrimSuffix(r.URL.Path, "/") + "/"
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		name, ok := strings.CutPrefix(path, container)
		if !ok || !strings.HasPrefix(name, q.Get("prefix")) || name <= q.Get("marker") {
			continue
		}
		if n := len(out.Blobs.Blob); n == pageSize {
			out.NextMarker = out.Blobs.Blob[n-1].Name
			break
		}
		out.Blobs.Blob = append(out.Blobs.Blob, item{name, properties{
			Size: len(s.objects[path]), Modified: time.Unix(1700000000, 0).UTC().Format(http.TimeFormat), Etag: fmt.Sprintf("%x", s.sums[path]),
		}})
	}
	return answerXML(r, out)
}
