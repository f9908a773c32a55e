package datasets

import (
	"bytes"
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/figures"
	"millrace/internal/tool/output"
	"millrace/internal/tool/preview"
	"millrace/loaders"
)

// previewCommand returns the command preview.
func previewCommand(p *cli.Program) *cobra.Command {
	var config cli.ConfigFlags
	var o preview.Options
	var path string
	var overwrite bool
	c := &cobra.Command{
		Use:   "preview CONFIG --html FILE",
		Short: "Write a page that shows the first examples of a loader",
		Long: `Write an HTML page of the first examples of a loader config, after its
processing steps: images as images, sounds as players, matrices as pictures, and
the rest as text. What random steps change is shown with several seeds. The
examples come in the order of the files, and without padding.

The page needs no other file and no network.`,
		Example: `  millrace preview loader.json --html page.html
  millrace preview loader.json --html page.html -n 20 --draws 5 --mode train`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case path == "":
				return cli.Usagef(c, "preview needs --html FILE")
			case o.Examples < 1 || o.Draws < 1:
				return cli.Usagef(c, "-n and --draws must be at least 1")
			}
			plan, err := p.Check(args[0], &config, nil)
			if err != nil {
				return err
			}
			return writePreview(c.Context(), p, plan, &previewPage{o, path, overwrite})
		},
	}
	c.Flags().StringVar(&path, "html", "", "write the page to `FILE`")
	c.Flags().IntVarP(&o.Examples, "examples", "n", 8, "show the first `N` examples")
	c.Flags().IntVar(&o.Draws, "draws", 3, "show what random steps make `N` times")
	c.Flags().BoolVar(&overwrite, "overwrite", false, "replace FILE if it exists")
	config.Add(c)
	return c
}

// previewPage says what page is written where.
type previewPage struct {
	preview.Options
	path      string
	overwrite bool
}

func writePreview(ctx context.Context, p *cli.Program, plan *loaders.Plan, o *previewPage) error {
	needs := cli.LoaderNeeds(plan)
	needs.Write = append(needs.Write, filepath.Dir(o.path))
	if err := p.Confine(needs); err != nil {
		return err
	}
	o.Open = &loaders.Options{Runtime: p.RuntimeOptions()}
	page, err := preview.Read(ctx, plan, &o.Options)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := page.Write(&text); err != nil {
		return millrace.Errorf(millrace.ErrInternal, "write the page: %w", err)
	}
	if err := output.WriteFile(o.path, text.Bytes(), o.overwrite); err != nil {
		return err
	}
	p.Note("%s: %s", millrace.Quote(o.path), figures.Of(int64(len(page.Examples)), "example"))
	return nil
}
