package spec

import (
	"fmt"

	"millrace/loaders/decl"
)

// SchemaKind says which file a JSON Schema is of.
type SchemaKind string

// The files that have a schema.
const (
	LoaderSchema   SchemaKind = "loader"   // loader configs
	ManifestSchema SchemaKind = "manifest" // dataset manifests
	ModelSchema    SchemaKind = "model"    // files of a model's names
)

// Schema returns the JSON Schema of a kind of file, for editors and other
// programs. It is made from the declarations that [Check] reads files by; the
// rules that join several keys or files are not in it.
func Schema(kind SchemaKind) ([]byte, error) {
	switch kind {
	case LoaderSchema:
		return decl.Schema(&Config{}, decl.SchemaOptions{
			Title: "Millrace loader config", Description: "How a dataset becomes batches.",
		})
	case ManifestSchema:
		return decl.Schema(&ManifestConfig{}, decl.SchemaOptions{
			Title: "Millrace dataset manifest", Description: "What the records of a dataset hold.",
		})
	case ModelSchema:
		return decl.Schema(&ModelConfig{}, decl.SchemaOptions{
			Title: "Millrace model names", Description: "What a model takes and gives.",
		})
	}
	return nil, fmt.Errorf("no schema of kind %q; there are %q, %q and %q", kind, LoaderSchema, ManifestSchema, ModelSchema)
}
