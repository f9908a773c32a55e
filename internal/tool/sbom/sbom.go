// Package sbom writes what a program is made of, as a software bill of materials in the form of
// CycloneDX 1.6: the Go modules that are linked into it, Go's standard library, and the TensorFlow runtime
// that it opens.
package sbom

import (
	"cmp"
	"encoding/json"
	"io"
	"net/url"
	"runtime/debug"
	"strings"

	"millrace"
	"millrace/internal/base/runtimedir"
)

// document is a CycloneDX document.
type document struct {
	Schema     string      `json:"$schema"`
	Format     string      `json:"bomFormat"`
	Version    string      `json:"specVersion"`
	Number     int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

// component is a part of the program. Its purl names it for tools that look for vulnerabilities.
type component struct {
	Type       string      `json:"type"`
	Ref        string      `json:"bom-ref"`
	Name       string      `json:"name"`
	Version    string      `json:"version,omitempty"`
	Purl       string      `json:"purl,omitempty"`
	Hashes     []hash      `json:"hashes,omitempty"`
	Properties []property  `json:"properties,omitempty"`
	Parts      []component `json:"components,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Write writes the bill of a program with a version. The runtime may be nil: then only what is linked into
// the program is named. Equal programs get equal bills.
func Write(w io.Writer, info *debug.BuildInfo, version string, in *runtimedir.Installed) error {
	d := document{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Version: "1.6", Number: 1,
		Metadata: metadata{component{Type: "application", Ref: "millrace", Name: "millrace", Version: version}},
	}
	d.Components = append(d.Components, golang("std", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.Components = append(d.Components, golang(m.Path, m.Version, m.Sum))
	}
	if in != nil {
		d.Components = append(d.Components, tensorflow(in))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(&d); err != nil {
		return millrace.Errorf(millrace.ErrIO, "write the bill of materials: %w", err)
	}
	return nil
}

// golang returns a Go module. Its sum is the one of go.sum, a hash of the module's files.
func golang(path, version, sum string) component {
	purl := "pkg:golang/" + strings.ReplaceAll(url.PathEscape(strings.ToLower(path)), "%2F", "/")
	if version != "" {
		purl += "@" + url.PathEscape(version)
	}
	c := component{Type: "library", Ref: purl, Name: path, Version: version, Purl: purl}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}

// tensorflow returns the runtime: the wheel that it came from, and its libraries as they are installed.
func tensorflow(in *runtimedir.Installed) component {
	c := component{Type: "library", Name: "tensorflow", Version: in.Version, Properties: []property{{"millrace:source", in.Source}, {"millrace:variant", in.Variant}}}
	if wheel := runtimedir.Pinned().BySHA256(in.SourceSHA256); wheel != nil && in.SourceSHA256 != "" {
		c.Name = wheel.Package
		c.Purl = "pkg:pypi/" + wheel.Package + "@" + in.Version
		c.Hashes = []hash{{"SHA-256", wheel.SHA256}}
	}
	c.Ref = cmp.Or(c.Purl, "tensorflow")
	for _, l := range in.Libraries {
		c.Parts = append(c.Parts, component{Type: "file", Ref: "file:" + l.Name, Name: l.Name, Version: in.Version, Hashes: []hash{{"SHA-256", l.SHA256}}})
	}
	return c
}
