package main

import (
	"millrace/loaders/spec"

	"github.com/spf13/cobra"
)

func (p *program) schemaCommand() *cobra.Command {
	kinds := []string{string(spec.LoaderSchema), string(spec.ManifestSchema), string(spec.ModelSchema)}
	return &cobra.Command{
		Use:   "schema KIND",
		Short: "Print the JSON Schema of a kind of file",
		Long: `Print the JSON Schema of loader configs (loader), of dataset manifests
(manifest) or of files with a model's input and output names (model). Editors
use it to check such files and to complete keys.`,
		Example: `  millrace schema loader > loader.schema.json
  millrace schema manifest > manifest.schema.json`,
		ValidArgs: kinds,
		Args:      exactly("KIND"),
		RunE: func(c *cobra.Command, args []string) error {
			for _, kind := range kinds {
				if kind != args[0] {
					continue
				}
				b, err := spec.Schema(spec.SchemaKind(kind))
				if err != nil {
					return err
				}
				return p.printf("%s\n", b)
			}
			return usagef(c, "no schema %q; name one of loader, manifest, model", args[0])
		},
	}
}
