package configdoc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// Sources are the files that the page is made from.
type Sources struct {
	Samples string // a pattern of txtar archives, each a config that the checker accepts
	Golden  string // a pattern of the checker's golden files; "": there are none
	Scratch string // a folder to unpack samples to

	Links map[string]string // folders that samples have links to, such as models
}

const preamble = `# The keys of configs and manifests

<!-- Written by gen/configdoc from the declarations; "make generate" writes it again. -->

Every key that [loader configs](#loader-config), [manifests](#manifest), [files of model names](#model-names) and
[list files](#list-files) may have. [config.md](config.md) says what the keys do together, with examples;
` + "`millrace schema loader`" + ` and ` + "`millrace schema manifest`" + ` print JSON Schemas for editors.

A path names a place as error messages do: ` + "`args.padding[].shape`" + ` is the key ` + "`shape`" + ` of each element of the list
` + "`padding`" + ` in the object ` + "`args`" + `. Each message below is one that the checker prints; it stands behind file, line, column and path:

    loader.json:7:24: args.target_batch_size: must be at least 1, got 0

The checker refuses unknown keys, repeated keys, and a required key that is missing, in every object. It reports all problems of
a file in one pass.
`

const listFiles = `## List files

A list file is no JSON: it is a text with the path of one data file a line. ` + "`args.dataset.args.list_file`" + ` names it.

    part-00000.tfrecords
    /data/songs/part-00001.tfrecords
    gs://bucket/songs/part-00002.tfrecords

- The order of the lines is the order of the files.
- Spaces and tabs around a path are ignored, and so are blank lines. Lines end with LF or CRLF.
- A relative path starts at the list's own folder, so a list and its files can move together. Globs, ~ and variables mean nothing.
- ` + "`s3://`, `gs://`, `http://` and `https://`" + ` are read by Millrace ([remote.md](remote.md)). A path with another scheme that TensorFlow has (` + "`ram://`" + `) goes to it as it is; the checker does not look at the file.
- A list without a path is an error, and so is a local file that is missing or not readable.
`

const runPreamble = `# The keys of run configs

<!-- Written by gen/configdoc from the declarations; "make generate" writes it again. -->

Every key that a run config may have, the file that ` + "`millrace train`" + ` takes. [training.md](training.md) says what the keys do together;
` + "`millrace schema run`" + ` prints a JSON Schema for editors. ` + "`train.loader`" + ` and ` + "`evaluate.loader`" + ` are loader configs, whose keys
[config-keys.md](config-keys.md) lists; it also says how to read this page.
`

// RunPage returns docs/run-keys.md.
func RunPage(from Sources) (string, error) {
	var b strings.Builder
	b.WriteString(runPreamble)
	err := from.write(&b, runDocuments)
	return b.String(), err
}

// Page returns docs/config-keys.md.
func Page(from Sources) (string, error) {
	var b strings.Builder
	b.WriteString(preamble)
	if err := from.write(&b, documents); err != nil {
		return "", err
	}
	b.WriteString("\n" + listFiles)
	return b.String(), nil
}

// write writes the keys of kinds of files.
func (from Sources) write(b *strings.Builder, documents []document) error {
	samples, err := readSamples(from.Samples, from.Scratch, from.Links)
	if err != nil {
		return err
	}
	for _, s := range samples {
		if err := s.accepted(); err != nil {
			return err
		}
	}
	var golden map[string][]string
	if from.Golden != "" {
		if golden, err = readGolden(from.Golden); err != nil {
			return err
		}
	}
	for _, d := range documents {
		all := entries(d)
		findExamples(d.kind, all, samples)
		if err := addErrors(d.kind, all, golden); err != nil {
			return err
		}
		if err := d.render(b, all); err != nil {
			return err
		}
	}
	return nil
}

// accepted returns an error if the checker refuses a sample.
func (s *sample) accepted() error {
	for name := range s.docs {
		if kind := kindOf(name); kind != "manifest" {
			if list := s.check(kind, name); list.HasErrors() {
				return fmt.Errorf("sample %s: %w", s.name, list)
			}
		}
	}
	return nil
}

func (d *document) render(b *strings.Builder, all []*entry) error {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", d.title, d.intro)
	for _, e := range all {
		if err := e.render(b); err != nil {
			return fmt.Errorf("%s %s: %w", d.kind, e.heading(), err)
		}
	}
	return nil
}

func (e *entry) render(b *strings.Builder) error {
	if e.Doc == "" {
		return fmt.Errorf("the declaration has no doc")
	}
	if len(e.examples) == 0 {
		return fmt.Errorf("no sample has the key; add it to one in testdata/samples")
	}
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", e.heading(), e.Doc)
	fmt.Fprintf(b, "- Type: %s. %s\n", e.Type, e.presence())
	if x := e.shortExample(); x != "" {
		fmt.Fprintf(b, "- Example: `\"%s\": %s`\n", e.Key, x)
	}
	for _, v := range e.Variants {
		fmt.Fprintf(b, "- With `\"%s\": \"%s\"`: %s\n", e.Chooser, v.Name, cmp.Or(v.Doc, "no keys of its own."))
	}
	if len(e.errors) > 0 {
		b.WriteString("- Errors:\n")
	}
	for _, m := range e.errors {
		fmt.Fprintf(b, "  - `%s`\n", m)
	}
	return nil
}

// shortExample returns the first example that fits a line, "" if none does.
func (e *entry) shortExample() string {
	for _, x := range e.examples {
		if text, err := json.Marshal(x.value); err == nil && len(text) <= 120 {
			return spaced(text)
		}
	}
	return ""
}

// presence says what an absent key means.
func (e *entry) presence() string {
	switch {
	case e.Required:
		return "Required."
	case e.Default != "":
		return fmt.Sprintf("Default: `%s`.", e.Default)
	}
	return "Optional."
}

// spaced returns JSON with a space behind each comma and colon outside of
// strings.
func spaced(text []byte) string {
	var b strings.Builder
	quoted := false
	for i, c := range text {
		if c == '"' && (i == 0 || text[i-1] != '\\') {
			quoted = !quoted
		}
		b.WriteByte(c)
		if !quoted && (c == ',' || c == ':') {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// shifted returns a decimal integer plus a step.
func shifted(n string, step int64) json.Number {
	v, _ := new(big.Int).SetString(n, 10)
	return json.Number(v.Add(v, big.NewInt(step)).String())
}
