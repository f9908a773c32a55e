package openinference

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"millrace"
)

// Request is the JSON document of a request for inference.
type Request struct {
	ID         string     `json:"id,omitempty"`
	Parameters Parameters `json:"parameters,omitempty"`
	Inputs     []Input    `json:"inputs"`
	Outputs    []Output   `json:"outputs,omitempty"`
}

// Parameters holds the parameters of a request that are supported.
type Parameters struct {
	BinaryDataOutput bool   `json:"binary_data_output,omitempty"` // unless the output says otherwise
	Signature        string `json:"signature_name,omitempty"`     // our extension; "": the default
}

// Input is an input of a request. It has data, or bytes after the document.
type Input struct {
	Name       string         `json:"name"`
	Shape      []int64        `json:"shape"`
	Datatype   string         `json:"datatype"`
	Parameters InputSize      `json:"parameters,omitempty"`
	Data       jsontext.Value `json:"data,omitempty"`
	Binary     []byte         `json:"-"` // nil: there is data
}

// InputSize is the number of bytes of an input after the document.
type InputSize struct {
	BinaryDataSize *int64 `json:"binary_data_size,omitempty"`
}

// Output requests an output.
type Output struct {
	Name       string       `json:"name"`
	Parameters OutputFormat `json:"parameters,omitempty"`
}

// OutputFormat is the requested format of an output.
type OutputFormat struct {
	BinaryData     *bool `json:"binary_data,omitempty"`    // nil: as in the request
	Classification int64 `json:"classification,omitempty"` // not supported
}

// Parse parses a request whose document is the first n bytes of a body, or all of it if n is
// negative. The inputs refer to the body.
func Parse(body []byte, n int64) (*Request, error) {
	if n > int64(len(body)) {
		return nil, invalid("Inference-Header-Content-Length is %d, and the body has %d bytes", n, len(body))
	}
	document, rest := body, []byte(nil)
	if n >= 0 {
		document, rest = body[:n], body[n:]
	}
	r := &Request{}
	if err := json.Unmarshal(document, r); err != nil {
		return nil, invalid("the request's JSON: %w", err)
	}
	seen := map[string]bool{}
	for i := range r.Inputs {
		in := &r.Inputs[i]
		if seen[in.Name] {
			return nil, invalid("the request has input %s twice", millrace.Quote(in.Name))
		}
		seen[in.Name] = true
		size := in.Parameters.BinaryDataSize
		switch {
		case (size == nil) == (in.Data == nil):
			return nil, invalid("input %s needs either data or the parameter binary_data_size", millrace.Quote(in.Name))
		case size == nil:
			continue
		case *size < 0 || *size > int64(len(rest)):
			return nil, invalid("input %s has binary_data_size %d, and %d bytes are left after the JSON", millrace.Quote(in.Name), *size, len(rest))
		}
		in.Binary, rest = rest[:*size:*size], rest[*size:]
	}
	if len(rest) > 0 {
		return nil, invalid("%d bytes follow the data of the last input", len(rest))
	}
	return r, r.check()
}

// check refuses unsupported parts of a request.
func (r *Request) check() error {
	for _, o := range r.Outputs {
		if o.Parameters.Classification != 0 {
			return invalid("output %s: the parameter classification is not supported", millrace.Quote(o.Name))
		}
	}
	return nil
}

// InBinary reports whether an output is answered in binary form.
func (r *Request) InBinary(output string) bool {
	for _, o := range r.Outputs {
		if o.Name == output && o.Parameters.BinaryData != nil {
			return *o.Parameters.BinaryData
		}
	}
	return r.Parameters.BinaryDataOutput
}

// invalid returns an error about a request.
func invalid(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrModel, format, args...)
}
