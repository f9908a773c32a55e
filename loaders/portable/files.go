package portable

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
)

// Sidecar returns the path of the description that belongs to a graph.
func Sidecar(path string) string { return path + ".json" }

// WriteOptions are the options of [Graph.Write]. Nil means the defaults.
type WriteOptions struct {
	Overwrite bool // replace files that are there
}

// Write writes the graph to a file, and its description to the sidecar. Each of them appears
// complete or not at all, the sidecar last: it has the digest of the graph, so that [Read]
// refuses files that do not belong together.
func (g *Graph) Write(path string, o *WriteOptions) error {
	if o == nil || !o.Overwrite {
		for _, name := range []string{path, Sidecar(path)} {
			if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				e := millrace.Errorf(millrace.ErrIO, "the file exists")
				if err != nil {
					e = millrace.Errorf(millrace.ErrIO, "%w", err)
				}
				e.File = name
				return e
			}
		}
	}
	text, err := json.MarshalIndent(g.Description, "", "  ")
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "describe the graph: %w", err)
	}
	if err := atomicfile.Write(path, g.Def, 0o666); err != nil {
		return err
	}
	return atomicfile.Write(Sidecar(path), append(text, '\n'), 0o666)
}

// mostRead bounds the files that Read takes: a GraphDef is at most 2 GiB.
const mostRead = 1 << 31

// Read reads a graph and its description. A graph is a program: read only what you trust.
func Read(path string) (*Graph, error) {
	g := &Graph{}
	text, err := readFile(Sidecar(path))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &g.Description); err != nil {
		return nil, broken(Sidecar(path), "%w", err)
	}
	if g.Format != Format {
		return nil, broken(Sidecar(path), "the format is %s, this version reads %q", millrace.Quote(g.Format), Format)
	}
	if g.Def, err = readFile(path); err != nil {
		return nil, err
	}
	if digest(g.Def) != g.SHA256 {
		return nil, broken(path, "this is not the graph that %s describes", millrace.Quote(Sidecar(path)))
	}
	return g, nil
}

func readFile(path string) ([]byte, error) {
	data, err := regularfile.ReadFile(path, mostRead)
	if err != nil {
		e := millrace.Errorf(millrace.ErrIO, "%w", err)
		e.File = path
		return nil, e
	}
	return data, nil
}

// broken is an error about a file that is not as Write writes it.
func broken(path, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrModel, format, args...)
	e.File = path
	return e
}
