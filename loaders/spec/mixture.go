package spec

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"millrace"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfrecord"
)

// mixturePart reads the datasets of a mixture.
type mixturePart struct{ *checker }

// mixture reads the manifests and the names of the data files of all datasets. What
// the loader needs of a manifest it takes from the first; the others must agree with
// it: see [checker.agree].
func (c mixturePart) mixture(entries []MixtureConfig) {
	sums := sha256.New()
	for i := range entries {
		e := &entries[i]
		if e.At == nil || e.Bad("dataset") && e.Dataset.At == nil {
			continue
		}
		files := len(c.spec.Files)
		c.nextDataset()
		datasetPart(c).oneDataset(&e.Dataset)
		d := mixedDataset{e, c.features, c.unnamed, c.spec.Manifest, c.spec.ManifestPath}
		c.mixed = append(c.mixed, d)
		c.spec.Mixture = append(c.spec.Mixture, MixturePart{d.path, len(c.spec.Files) - files, e.Weight})
		fmt.Fprintln(sums, d.manifest.SHA256, c.spec.ListSHA256)
	}
	if len(c.mixed) == 0 {
		return
	}
	first := &c.mixed[0]
	c.spec.ManifestPath, c.spec.Manifest = first.path, first.manifest
	c.features, c.unnamed = first.features, first.unnamed
	c.spec.Manifest.SHA256 = fmt.Sprintf("%x", sums.Sum(nil))
}

// nextDataset forgets the previous dataset, except for its files and problems.
func (c mixturePart) nextDataset() {
	c.loose = append(c.loose, c.inManifest.Finish()...)
	c.inManifest = &decl.Reporter{Class: millrace.ErrConfig, Limit: millrace.ErrLimit}
	c.spec.Manifest, c.spec.ManifestPath, c.spec.ListPath, c.spec.ListSHA256 = &Manifest{}, "", "", ""
	if len(c.mixed) == 0 {
		return
	}
	c.features, c.unnamed, c.featureNames = nil, false, nil
}

// agree reports requested features about which the manifests of a mixture contradict the
// first manifest.
func (c mixturePart) agree() {
	if len(c.mixed) < 2 || c.mixed[0].features == nil {
		return
	}
	for _, d := range c.mixed[1:] {
		if d.features == nil {
			continue
		}
		at := d.config.Key("dataset")
		if d.manifest.AllowVarLen != c.spec.Manifest.AllowVarLen {
			c.inConfig.Report(at, "allow_var_len is %t in %s and %t in %s; the datasets of a mixture must have records of one kind",
				d.manifest.AllowVarLen, millrace.Quote(d.path), c.spec.Manifest.AllowVarLen, millrace.Quote(c.spec.ManifestPath))
			continue
		}
		if d.manifest.Compression != tfrecord.None {
			c.inConfig.Report(at, "needs the places of records, which are not known in compressed files; the manifest says %s", d.manifest.Compression)
		}
		for _, f := range c.spec.Features {
			c.agreeOn(f, &d)
		}
	}
}

// agreeOn reports a feature that a dataset lacks or stores in another form.
func (c mixturePart) agreeOn(f *Feature, d *mixedDataset) {
	at := d.config.Key("dataset")
	other, ok := d.features[f.Name]
	first := c.mixed[0].features[f.Name]
	switch {
	case !ok && !d.unnamed:
		c.inConfig.Report(at, "feature %s is not in %s; the datasets of a mixture must have all features that are read",
			decl.Quote(f.Name), millrace.Quote(d.path))
	case !ok || !other.typed || !other.shaped || !first.typed || !first.shaped:
	case !f.sameForm(&other.Feature):
		c.inConfig.Report(at, "feature %s is %s in %s and %s in %s; the manifests of a mixture must agree on it",
			decl.Quote(f.Name), other.form(), millrace.Quote(d.path), f.form(), millrace.Quote(c.spec.ManifestPath))
	}
}

// sameForm reports whether records store two features alike, and they give tensors of
// one type and shape.
func (f *Feature) sameForm(g *Feature) bool {
	return f.Kind == g.Kind && f.DType == g.DType && slices.Equal(f.Shape, g.Shape) && f.VarLen == g.VarLen &&
		f.Optional == g.Optional && f.Endian == g.Endian && f.Len == g.Len && f.CheckedCast == g.CheckedCast
}

// form describes for a person how a feature is stored and which tensor it becomes.
func (f *Feature) form() string {
	form := fmt.Sprintf("%s %s, stored as %s", f.DType, processing.FormatShape(f.TensorShape()), f.Kind)
	if f.Endian != "" {
		form += " " + f.Endian
	}
	if f.Optional {
		form += ", empty by default"
	}
	if f.CheckedCast {
		form += ", cast with a check"
	}
	return form
}

// dataset reads the manifest and the names of the data files, or those of all datasets
// of a mixture.
func (c datasetPart) dataset() {
	if c.ordered.mixed() {
		mixturePart(c).mixture(c.ordered.Mixture)
		return
	}
	if d := &c.args.Dataset; !c.args.Bad("dataset") || d.At != nil {
		c.oneDataset(d)
	}
}

func (c datasetPart) oneDataset(d *DatasetConfig) {
	switch a := d.Args.(type) {
	case *DirArgs:
		if a.Bad("data_dir") {
			return
		}
		c.readDir(a)
	case *ListArgs:
		if !a.Bad("manifest_file") {
			c.spec.ManifestPath = c.disk.resolve(a.ManifestFile)
			manifestPart(c).readManifest(a.Key("manifest_file"))
		}
		if !a.Bad("list_file") && !c.o.ManifestOnly {
			c.spec.ListPath = c.disk.resolve(a.ListFile)
			c.readList(a.Key("list_file"))
		}
	}
}
