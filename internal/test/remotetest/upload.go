package remotetest

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// uploadPath begins the paths of uploads of Google's interface.
const uploadPath = "/upload" + googlePath

// Uploads returns the number of uploads that were neither completed nor aborted.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, u := range s.uploads {
		if !u.done {
			n++
		}
	}
	return n
}

// begin begins an upload and returns its id.
func (s *Server) begin(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	id := fmt.Sprint("upload-", s.started)
	s.uploads[id] = &upload{path: path, parts: map[int][]byte{}}
	return id
}

// upload returns an upload, nil if there is none.
func (s *Server) upload(id string) *upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uploads[id]
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, id)
}

// sentBody reads the body of a request up to where a fault cuts it.
func sentBody(r *http.Request, f Fault) ([]byte, error) {
	if r.Body == nil {
		return []byte{}, nil
	}
	defer r.Body.Close()
	if f.CutAt == 0 {
		return io.ReadAll(r.Body)
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, f.CutAt))
	if err == nil {
		err = syscall.ECONNRESET
	}
	return data, err
}

// write answers a request of S3's interface that writes.
func (s *Server) write(r *http.Request, f Fault) (*http.Response, error) {
	data, err := sentBody(r, f)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	id := q.Get("uploadId")
	u := s.upload(id)
	switch {
	case q.Has("uploads"):
		type result struct {
			XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
			UploadId string
		}
		return answerXML(r, result{UploadId: s.begin(r.URL.Path)}), nil
	case id != "" && u == nil:
		return refusal(r, Fault{Status: http.StatusNotFound, Code: "NoSuchUpload"}), nil
	case id != "" && r.Method == http.MethodDelete:
		s.forget(id)
		return answer(r, http.StatusNoContent, nil), nil
	case id != "" && r.Method == http.MethodPost:
		return s.complete(r, id, u), nil
	case id != "":
		n, _ := strconv.Atoi(q.Get("partNumber"))
		s.mu.Lock()
		u.parts[n] = data
		s.mu.Unlock()
	case r.Method == http.MethodDelete:
		s.Delete(r.URL.Path)
		return answer(r, http.StatusNoContent, nil), nil
	default:
		if r.Header.Get("If-None-Match") == "*" && s.Object(r.URL.Path) != nil {
			return refusal(r, Fault{Status: http.StatusPreconditionFailed, Code: "PreconditionFailed"}), nil
		}
		s.Put(r.URL.Path, data)
	}
	a := answer(r, http.StatusOK, nil)
	a.Header.Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(data)))
	return a, nil
}

// complete makes the parts of an upload an object.
func (s *Server) complete(r *http.Request, id string, u *upload) *http.Response {
	var all, sums []byte
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		sum := md5.Sum(u.parts[n])
		all, sums = append(all, u.parts[n]...), append(sums, sum[:]...)
	}
	tag := fmt.Sprintf("%x-%d", md5.Sum(sums), len(u.parts))
	s.Put(u.path, all)
	s.mu.Lock()
	s.tags[u.path] = tag
	s.mu.Unlock()
	s.forget(id)
	type result struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}
	return answerXML(r, result{ETag: `"` + tag + `"`})
}

func answerXML(r *http.Request, v any) *http.Response {
	text, _ := xml.Marshal(v)
	a := answer(r, http.StatusOK, text)
	a.Header.Set("Content-Type", "application/xml")
	return a
}

// Delete removes an object.
func (s *Server) Delete(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, path)
	delete(s.tags, path)
}

// keptBytes is the unit in which Google's interface keeps the bytes of an upload.
const keptBytes = 256 << 10

// googleUpload answers a request to Google's interface for uploads. Like Google's servers it
// keeps the whole units of a request that is cut.
func (s *Server) googleUpload(r *http.Request, f Fault) (*http.Response, error) {
	q := r.URL.Query()
	bucket := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, uploadPath), "/o")
	data, cut := sentBody(r, f)
	switch id := q.Get("upload_id"); {
	case id != "":
		return s.googleSession(r, id, data, cut)
	case cut != nil:
		return nil, cut
	case q.Get("uploadType") == "resumable":
		a := answer(r, http.StatusOK, nil)
		a.Header.Set("Location", "http://"+r.URL.Host+uploadPath+bucket+"/o?upload_id="+s.begin("/"+bucket+"/"+q.Get("name")))
		return a, nil
	}
	s.Put("/"+bucket+"/"+q.Get("name"), data)
	text, _ := json.Marshal(googleObject(q.Get("name"), "1", data))
	return answer(r, http.StatusOK, text), nil
}

// googleSession answers a request to the session of an upload.
func (s *Server) googleSession(r *http.Request, id string, data []byte, cut error) (*http.Response, error) {
	u := s.upload(id)
	if u == nil {
		return answer(r, http.StatusNotFound, nil), nil
	}
	if r.Method == http.MethodDelete {
		s.forget(id)
		return answer(r, 499, nil), nil
	}
	span, total, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Content-Range"), "bytes "), "/")
	if first, _, ok := strings.Cut(span, "-"); ok {
		if from, _ := strconv.Atoi(first); from != len(u.data) {
			return answer(r, http.StatusBadRequest, nil), nil
		}
		if cut != nil || total == "*" {
			data = data[:len(data)/keptBytes*keptBytes]
		}
		u.data = append(u.data, data...)
	}
	switch {
	case cut != nil:
		return nil, cut
	case u.done:
		return answer(r, http.StatusOK, nil), nil
	}
	if size, err := strconv.Atoi(total); err == nil && size == len(u.data) {
		s.Put(u.path, bytes.Clone(u.data))
		s.mu.Lock()
		u.done = true
		s.mu.Unlock()
		return answer(r, http.StatusOK, nil), nil
	}
	a := answer(r, 308, nil)
	if len(u.data) > 0 {
		a.Header.Set("Range", fmt.Sprintf("bytes=0-%d", len(u.data)-1))
	}
	return a, nil
}
