package serve

import (
	"os"
	"path/filepath"

	"millrace/cmd/millrace/internal/cli"
	"millrace/loaders"
	"millrace/remote"
	"millrace/sandbox"
	"millrace/serving"
)

// needs returns the files that a server uses: the folders of the models, in which new
// versions may appear. Other files that flags name have already been read, and the
// ports are bound.
func (f *serveFlags) needs(models []serving.ModelConfig, plans map[string]*loaders.Plan) *sandbox.Policy {
	needs := &sandbox.Policy{}
	for _, m := range models {
		if remote.IsURL(m.BasePath) {
			needs.Read = append(needs.Read, m.BasePath)
			continue
		}
		needs.Read = append(needs.Read, versions(m.BasePath)...)
		if above := filepath.Dir(m.BasePath); f.configFile != "" && above != "/" && above != "." { // a new model is usually put next to others
			needs.Read = append(needs.Read, cli.Expected(above))
		}
	}
	for _, plan := range plans {
		needs.Read = append(needs.Read, plan.Path, plan.ManifestPath)
	}
	if f.configFile != "" { // replacing the file makes a new one
		needs.Read = append(needs.Read, filepath.Dir(f.configFile))
	}
	if f.logging.FilenamePrefix != "" {
		needs.Write = append(needs.Write, filepath.Dir(f.logging.FilenamePrefix))
	}
	if f.socket != "" { // it is open already, and removed at the end
		needs.Rename = append(needs.Rename, filepath.Dir(f.socket))
	}
	return needs
}

// versions returns a model's folder and the links in it. A missing folder may be made
// while the server runs, so the first existing folder above it is returned.
func versions(base string) []string {
	entries, err := os.ReadDir(base)
	if err != nil {
		return []string{cli.Expected(base)}
	}
	paths := []string{base}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			paths = append(paths, filepath.Join(base, e.Name()))
		}
	}
	return paths
}
