package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/diag"
	"millrace/internal/base/figures"
	"millrace/internal/tool/analyze"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/sandbox"
)

// analyzer is the command analyze.
type analyzer struct {
	*cli.Program
	config       cli.ConfigFlags
	quarantine   cli.QuarantineFlag
	path         string
	vocabularies []string // TENSOR=FILE
	most, least  int64    // words of a vocabulary, and how often a word has to occur
	overwrite    bool
	html         string // a page
	compare      string // statistics of other data
	shard        string // I/N
	merge        bool   // the arguments are parts that shards have written
}

// vocabulary is a file of words that the command writes.
type vocabulary struct{ tensor, path string }

// analyzeCommand returns the command analyze.
func analyzeCommand(p *cli.Program) *cobra.Command {
	a := &analyzer{Program: p}
	c := &cobra.Command{
		Use:   "analyze CONFIG --out FILE",
		Short: "Write statistics and vocabularies of a dataset",
		Long:  analyzeHelp,
		Example: `  millrace analyze loader.json --out stats.json
  millrace analyze loader.json --out stats.json --vocabulary words=words.txt --most 30000
  millrace analyze new.json --out new-stats.json --compare stats.json --html page.html
  millrace analyze --merge part-*.json --out stats.json`,
		Args: func(c *cobra.Command, args []string) error {
			if a.merge && len(args) > 0 {
				return nil
			}
			return cli.Exactly("CONFIG")(c, args)
		},
		RunE: a.command,
	}
	c.Flags().StringVarP(&a.path, "out", "o", "", "write the statistics to `FILE`")
	c.Flags().StringArrayVar(&a.vocabularies, "vocabulary", nil, "write the strings of a tensor to a file: `TENSOR=FILE`; may be repeated")
	c.Flags().Int64Var(&a.most, "most", 10_000_000, "write the `N` most frequent strings of each vocabulary")
	c.Flags().Int64Var(&a.least, "min-count", 1, "write strings that come at least `N` times")
	c.Flags().StringVar(&a.html, "html", "", "write a page with histograms to `FILE`")
	c.Flags().StringVar(&a.compare, "compare", "", "say how the statistics in `FILE` differ")
	c.Flags().StringVar(&a.shard, "shard", "", "read part `I/N` of the data, from 0/N, and write a part for --merge")
	c.Flags().BoolVar(&a.merge, "merge", false, "merge the parts that --shard wrote, in place of reading data")
	c.Flags().BoolVar(&a.overwrite, "overwrite", false, "replace files that exist")
	a.quarantine.Add(c, "default none")
	a.config.Add(c)
	return c
}

const analyzeHelp = `Read the data of a loader config once, and write statistics of each tensor: mean
and standard deviation along the last axis, quantiles, zeros, NaNs, lengths,
distinct values, the most frequent strings. The step normalize reads the file:

  {"tensor": "x", "type": "normalize", "args": {
    "mean": {"from": "stats.json", "tensor": "x"},
    "std": {"from": "stats.json", "tensor": "x"}}}

--vocabulary writes the strings of a tensor, the most frequent ones first, one a
line, which the step lookup reads.

A tensor is what it is before the first step that needs such a file: the files
need not be there yet. Random steps are skipped. Filters are carried out.
Quantiles are within 0.1% of their rank, memory does not grow with the data, and
all processors count. Files are written at the end, whole or not at all.

--html writes a page: a histogram and a table for each tensor, and what looks
wrong. --compare names other statistics, and says which tensors have another
distribution there.

--shard 0/4 reads a quarter of the data, and writes a part. When all four are
there, --merge makes of them what one pass gives. The data must be uncompressed
files on a disk.`

// command checks the flags and carries the command out.
func (a *analyzer) command(c *cobra.Command, args []string) error {
	switch {
	case a.path == "":
		return cli.Usagef(c, "analyze needs --out FILE")
	case a.most < 1 || a.least < 1:
		return cli.Usagef(c, "--most and --min-count must be at least 1")
	case a.shard != "" && (a.merge || a.html != "" || a.compare != "" || len(a.vocabularies) > 0):
		return cli.Usagef(c, "--shard writes a part: give --vocabulary, --html and --compare with --merge")
	}
	var files []vocabulary
	for _, text := range a.vocabularies {
		tensor, path, ok := strings.Cut(text, "=")
		if !ok || tensor == "" || path == "" {
			return cli.Usagef(c, "--vocabulary %s: must be TENSOR=FILE", text)
		}
		files = append(files, vocabulary{tensor, path})
	}
	var shard *analyze.Shard
	if a.shard != "" {
		shard = &analyze.Shard{}
		var rest string
		if n, _ := fmt.Sscanf(a.shard+" .", "%d/%d %s", &shard.Index, &shard.Count, &rest); n != 3 || shard.Index < 0 || shard.Index >= shard.Count {
			return cli.Usagef(c, "--shard %s: want I/N, such as 0/4 for the first of four parts", a.shard)
		}
	}
	if a.merge {
		return a.mergeParts(args, files)
	}
	return a.run(c.Context(), args[0], shard, files)
}

// mergeParts makes statistics of the parts in some files.
func (a *analyzer) mergeParts(paths []string, files []vocabulary) error {
	if err := a.Confine(a.needs(&sandbox.Policy{Read: paths}, files)); err != nil {
		return err
	}
	var parts []*analyze.Part
	for _, path := range paths {
		part, err := analyze.ReadPart(path)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	found, err := analyze.Merge(parts)
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, ok := found.Words(f.tensor); !ok {
			return millrace.Errorf(millrace.ErrConfig, "--vocabulary: the parts have no tensor of strings named %s; %s", millrace.Quote(f.tensor), diag.DidYouMean(f.tensor, slices.Collect(maps.Keys(found.Tensors))))
		}
	}
	return a.finish(found, "merged", files)
}

// needs adds to a policy the files of the flags, which the command reads or writes.
func (a *analyzer) needs(p *sandbox.Policy, files []vocabulary) *sandbox.Policy {
	for _, name := range append([]string{a.path, a.html}, paths(files)...) {
		if name != "" {
			p.Write = append(p.Write, filepath.Dir(name))
		}
	}
	if a.compare != "" {
		p.Read = append(p.Read, a.compare)
	}
	return p
}

// run reads the data and writes the files.
func (a *analyzer) run(ctx context.Context, path string, shard *analyze.Shard, files []vocabulary) error {
	replace, skipped, err := analyze.Replacements(path, shard)
	if err != nil {
		return err
	}
	a.config.Replace = replace
	checked, err := a.Check(path, &a.config, nil)
	if err != nil {
		return err
	}
	plan, err := analyze.Plan(checked)
	if err != nil {
		return err
	}
	if err := checkVocabularies(plan, files); err != nil {
		return err
	}
	a.quarantine.Use(a.Program, "", plan)
	needs := a.needs(cli.LoaderNeeds(plan), files)
	a.quarantine.Needs(needs)
	if err := a.Confine(needs); err != nil {
		return err
	}
	loader, err := a.Open(ctx, plan)
	if err != nil {
		return err
	}
	defer loader.Close()
	if len(skipped) > 0 {
		defer a.Note("steps that read such files were skipped: %s", strings.Join(skipped, ", "))
	}
	o := &loaders.RunOptions{Observe: a.quarantine.Listener()}
	if shard != nil {
		part, err := analyze.RunShard(ctx, loader, *shard, o)
		a.quarantine.Tell(a.Program)
		if err != nil {
			return err
		}
		return a.writeJSON(part)
	}
	found, err := analyze.Run(ctx, loader, o)
	a.quarantine.Tell(a.Program)
	if err != nil {
		return err
	}
	return a.finish(found, filepath.Base(path), files)
}

// finish writes all files, and says what was found.
func (a *analyzer) finish(found *analyze.Statistics, title string, files []vocabulary) error {
	var other *analyze.Statistics
	if a.compare != "" {
		var err error
		if other, err = analyze.Read(a.compare); err != nil {
			return err
		}
	}
	if err := a.write(found, files); err != nil {
		return err
	}
	if a.html != "" {
		var page bytes.Buffer
		if err := analyze.NewPage(title, found, other, filepath.Base(a.compare)).Write(&page); err != nil {
			return err
		}
		if err := output.WriteFile(a.html, page.Bytes(), a.overwrite); err != nil {
			return err
		}
	}
	a.Note("%s: %s of %s", millrace.Quote(a.path), figures.Of(int64(len(found.Tensors)), "tensor"), figures.Of(found.Examples, "example"))
	for _, f := range found.Look() {
		a.Note("%s", f)
	}
	if other != nil {
		differ := found.Compare(other)
		for _, f := range differ {
			a.Note("compared with %s: %s", millrace.Quote(a.compare), f)
		}
		if len(differ) == 0 {
			a.Note("compared with %s: nothing differs much", millrace.Quote(a.compare))
		}
	}
	return nil
}

func paths(files []vocabulary) (list []string) {
	for _, f := range files {
		list = append(list, f.path)
	}
	return list
}

// checkVocabularies checks that the tensors of the vocabularies are there, and of strings.
func checkVocabularies(plan *loaders.Plan, files []vocabulary) error {
	for _, f := range files {
		i := slices.IndexFunc(plan.Tensors, func(t loaders.TensorSpec) bool { return t.Name == f.tensor })
		if i < 0 {
			var names []string
			for _, t := range plan.Tensors {
				names = append(names, t.Name)
			}
			e := millrace.Errorf(millrace.ErrConfig, "--vocabulary: no tensor named %s before the steps that need files; %s", millrace.Quote(f.tensor), diag.DidYouMean(f.tensor, names))
			e.Loader = plan.Path
			return e
		}
		if t := plan.Tensors[i]; t.DType.String() != "string" {
			e := millrace.Errorf(millrace.ErrConfig, "--vocabulary: %s has dtype %s, and a vocabulary is made of strings", millrace.Quote(f.tensor), t.DType)
			e.Loader = plan.Path
			return e
		}
	}
	return nil
}

// write writes the vocabularies and the statistics.
func (a *analyzer) write(found *analyze.Statistics, files []vocabulary) error {
	for _, f := range files {
		words, _ := found.Words(f.tensor)
		var text bytes.Buffer
		n := int64(0)
		for _, w := range words {
			if n == a.most || w.Count < a.least {
				break
			}
			if strings.ContainsRune(w.Text, '\n') {
				return millrace.Errorf(millrace.ErrSchema, "--vocabulary: the string %s of %s has a line break, and a vocabulary has a string in each line; "+
					"split or strip it in a step before", millrace.QuoteData([]byte(w.Text)), millrace.Quote(f.tensor))
			}
			text.WriteString(w.Text)
			text.WriteByte('\n')
			n++
		}
		if n == 0 {
			return millrace.Errorf(millrace.ErrSchema, "--vocabulary: no string of %s came %d times", millrace.Quote(f.tensor), a.least)
		}
		if err := output.WriteFile(f.path, text.Bytes(), a.overwrite); err != nil {
			return err
		}
		a.Note("%s: %s", millrace.Quote(f.path), figures.Of(n, "string"))
	}
	return a.writeJSON(found)
}

// writeJSON writes the file of --out.
func (a *analyzer) writeJSON(found any) error {
	text, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "statistics: %w", err)
	}
	return output.WriteFile(a.path, append(text, '\n'), a.overwrite)
}
