package install

import (
	"path/filepath"

	"millrace"
	"millrace/internal/base/runtimedir"
)

// describe checks the unpacked files against the pins.
func (in *installer) describe(dir string, src *source, t *tree) (*runtimedir.Installed, error) {
	made := &runtimedir.Installed{
		Dir: dir, Version: in.pins.Version, Variant: in.Variant, Arch: in.machine,
		Source: src.name, SourceSHA256: src.sha256,
	}
	for _, name := range runtimedir.Libraries {
		sum, ok := t.sum(name)
		if !ok {
			return nil, problem(millrace.ErrRuntime, src.path, "does not hold %s", name)
		}
		l, err := runtimedir.Stamp(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		l.SHA256 = sum
		made.Libraries = append(made.Libraries, l)
	}
	return made, in.match(made, src)
}

// match finds the pin of the libraries.
func (in *installer) match(made *runtimedir.Installed, src *source) error {
	sums := map[string]string{}
	for _, l := range made.Libraries {
		sums[l.Name] = l.SHA256
	}
	pin := in.pins.ByLibraries(sums)
	switch {
	case pin != nil && pin.GOARCH != in.machine:
		return problem(millrace.ErrRuntime, src.path, "is for %s, but this machine is %s", pin.GOARCH, in.machine)
	case pin != nil && in.Variant != "" && pin.Variant != in.Variant:
		return problem(millrace.ErrConfig, src.path, "holds the %s variant, but the %s variant was asked for", pin.Variant, in.Variant)
	case pin != nil:
		made.Variant, made.Pinned = pin.Variant, true
		return nil
	case !in.Unpinned:
		return in.unpinned(made, src)
	}
	if made.Variant == "" {
		made.Variant = runtimedir.CPU
	}
	for _, l := range made.Libraries {
		if err := runtimedir.CheckELF(filepath.Join(made.Dir, l.Name)); err != nil {
			return err
		}
	}
	return nil
}

// unpinned returns the error for libraries that match no pin.
func (in *installer) unpinned(made *runtimedir.Installed, src *source) error {
	want := in.pin
	if want == nil {
		variant := in.Variant
		if variant == "" {
			variant = runtimedir.CPU
		}
		want = in.pins.Wheel(variant, in.machine)
	}
	for _, l := range made.Libraries {
		if want != nil && want.Libraries[l.Name].SHA256 != l.SHA256 {
			return problem(millrace.ErrRuntime, src.path, "%s has SHA-256 %s, which is not pinned for TensorFlow %s (%s has %s); to trust it, add --unpinned", l.Name, l.SHA256, in.pins.Version, want.File, want.Libraries[l.Name].SHA256)
		}
	}
	return problem(millrace.ErrRuntime, src.path, "its libraries are not pinned for TensorFlow %s; to trust them, add --unpinned", in.pins.Version)
}
