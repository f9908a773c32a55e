package datasets

import (
	"millrace/cmd/millrace/internal/cli"
	run "millrace/estimator/spec"
	"millrace/loaders/spec"

	"github.com/spf13/cobra"
)

func schemaCommand(p *cli.Program) *cobra.Command {
	kinds := []string{string(spec.LoaderSchema), string(spec.ManifestSchema), string(spec.ModelSchema), runSchema}
	return &cobra.Command{
		Use:   "schema KIND",
		Short: "Print the JSON Schema of a kind of file",
		Long: `Print the JSON Schema of loader configs (loader), of dataset manifests
(manifest), of files with a model's input and output names (model) or of run
configs (run). Editors
use it to check such files and to complete keys.`,
		Example: `  millrace schema loader > loader.schema.json
  millrace schema manifest > manifest.schema.json`,
		ValidArgs: kinds,
		Args:      cli.Exactly("KIND"),
		RunE: func(c *cobra.Command, args []string) error {
			for _, kind := range kinds {
				if kind != args[0] {
					continue
				}
				b, err := schemaOf(kind)
				if err != nil {
					return err
				}
				return p.Printf("%s\n", b)
			}
			return cli.Usagef(c, "no schema %q; name one of loader, manifest, model, run", args[0])
		},
	}
}

// runSchema is the kind of run configs.
const runSchema = "run"

// schemaOf returns the JSON Schema of a kind of file.
func schemaOf(kind string) ([]byte, error) {
	if kind == runSchema {
		return run.Schema()
	}
	return spec.Schema(spec.SchemaKind(kind))
}
