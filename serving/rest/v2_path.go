package rest

import (
	"net/http"
	"strconv"
	"strings"
)

// The methods of KServe's Open Inference Protocol, as [Request] names them.
const (
	v2Server = "v2 server"
	v2Live   = "v2 live"
	v2Ready  = "v2 ready"
	v2Model  = "v2 metadata"
	v2Has    = "v2 model ready"
	v2Infer  = "v2 infer"
	v2Stream = "v2 generate_stream"
)

// splitV2 splits a path of the Open Inference Protocol:
//
//	GET  /v2, /v2/health/live, /v2/health/ready
//	GET  /v2/models/NAME[/versions/V][/ready]
//	POST /v2/models/NAME[/versions/V]/infer
//	POST /v2/models/NAME[/versions/V]/generate_stream
//
// V is a number, or a label. The names are still escaped.
func splitV2(httpMethod, text string) (p path, ok bool) {
	rest, ok := strings.CutPrefix(text, "/v2")
	if !ok {
		return p, false
	}
	rest = strings.TrimSuffix(rest, "/")
	switch rest {
	case "":
		p.method = v2Server
	case "/health/live":
		p.method = v2Live
	case "/health/ready":
		p.method = v2Ready
	}
	if p.method != "" {
		return p, httpMethod == http.MethodGet
	}
	if rest, ok = strings.CutPrefix(rest, "/models/"); !ok {
		return p, false
	}
	p.name, rest, _ = strings.Cut(rest, "/")
	if after, found := strings.CutPrefix(rest, "versions/"); found {
		p.label, rest, _ = strings.Cut(after, "/")
		if _, err := strconv.ParseUint(p.label, 10, 63); err == nil {
			p.version, p.label = p.label, ""
		}
		ok = p.version+p.label != ""
	}
	want := http.MethodGet
	switch rest {
	case "":
		p.method = v2Model
	case "ready":
		p.method = v2Has
	case "infer":
		p.method, want = v2Infer, http.MethodPost
	case "generate_stream":
		p.method, want = v2Stream, http.MethodPost
	default:
		ok = false
	}
	return p, ok && p.name != "" && httpMethod == want
}

// open reports whether a request needs no authentication, as for health checks.
func (p path) open() bool { return p.method == v2Live || p.method == v2Ready }
