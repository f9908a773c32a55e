package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/internal/base/machine"
	"millrace/loaders"
	"millrace/loaders/spec"
	"millrace/remote"
	"millrace/sandbox"
	"millrace/tfbridge"
	"millrace/tfrecord/index"
)

// sandboxFlags are the flags of the sandbox, which all commands have, and what is known of the process.
type sandboxFlags struct {
	mode        string
	read, write []string

	process bool          // the command line is the process's own, so the process may be confined
	temp    *sandbox.Temp // nil: none
}

func (f *sandboxFlags) add(c *cobra.Command) {
	s := c.PersistentFlags()
	s.StringVar(&f.mode, "sandbox", string(sandbox.Auto), "have the kernel confine this process to the files and ports that the command names: `MODE` auto (as far as it can), require (or fail) or off")
	s.StringArrayVar(&f.read, "sandbox-read", nil, "let the process read the file or folder `PATH`, too; may be repeated")
	s.StringArrayVar(&f.write, "sandbox-write", nil, "let the process read and change the file or folder `PATH`, too; may be repeated")
}

// Confine has the kernel confine the process to the files that the command needs, and
// to those that all commands need: the runtime and the cache of index files. A command
// calls it once, when it knows its files, and before it loads a model or reads data.
func (p *Program) Confine(needs *sandbox.Policy) error {
	mode, err := sandbox.ParseMode(p.sandbox.mode)
	if err != nil {
		return millrace.Errorf(millrace.ErrConfig, "--sandbox: %w", err)
	}
	if !p.sandbox.confinable() {
		p.verbosely("sandbox: off")
		return nil
	}
	policy := withoutURLs(needs)
	policy.Read = append(append(policy.Read, p.sandbox.read...), p.runtimePaths()...)
	policy.Write = append(slices.DeleteFunc(policy.Write, missing), p.sandbox.write...)
	policy.Rename = slices.DeleteFunc(policy.Rename, missing)
	if err := p.sandbox.ownTemp(); err != nil {
		return err
	}
	policy.Temp = p.sandbox.temp
	protection, err := sandbox.Restrict(&policy, mode)
	if err != nil {
		return err
	}
	p.verbosely("sandbox: %s", protection)
	return nil
}

// confinable reports whether Confine restricts the process.
func (f *sandboxFlags) confinable() bool {
	mode, err := sandbox.ParseMode(f.mode)
	return err == nil && mode != sandbox.Off && f.process
}

// ownTemp makes the folder for temporary files, once, if the process will be confined.
func (f *sandboxFlags) ownTemp() (err error) {
	if f.temp == nil && f.confinable() {
		f.temp, err = sandbox.NewTemp()
	}
	return err
}

// withoutURLs returns a policy with connections in place of the paths that are URLs.
func withoutURLs(needs *sandbox.Policy) sandbox.Policy {
	policy, urls := *needs, false
	for _, paths := range []*[]string{&policy.Read, &policy.Write, &policy.Rename} {
		urls = urls || slices.ContainsFunc(*paths, remote.IsURL)
		*paths = slices.DeleteFunc(slices.Clone(*paths), remote.IsURL)
	}
	if urls {
		policy.Connect = true
		policy.Read = append(policy.Read, credentials()...)
	}
	return policy
}

// missing reports whether a path does not exist. The command's own error for a missing
// folder, when it writes there, is better than the sandbox's.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// verbosely prints a remark with --verbose.
func (p *Program) verbosely(format string, args ...any) {
	if p.Verbose {
		p.Note(format, args...)
	}
}

// runtimePaths returns the path of the TensorFlow runtime, and of the library of
// operations, which may be in the program's folder.
func (p *Program) runtimePaths() (paths []string) {
	if dir, err := tfbridge.FindRuntime(p.RuntimeOptions()); err == nil {
		paths = append(paths, dir)
	}
	if self, err := os.Executable(); err == nil {
		beside, _ := filepath.Glob(filepath.Join(filepath.Dir(self), "libmillrace_*")) // the pattern is correct
		paths = append(append(paths, self), beside...)
	}
	return paths
}

// explainDenial says that a file may not have opened because of a limit or of the sandbox.
func (p *Program) explainDenial(err error) {
	if outOfFiles(err) {
		_, limit := machine.OpenFiles()
		p.Note("this process may have %s open; raise the limit: ulimit -n 4096", figures.Of(limit, "file"))
	}
	if _, confined := sandbox.InForce(); !confined || ofStore(err) {
		return
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, tfbridge.PermissionDenied) {
		p.Note("the sandbox of this process was set when it started; --sandbox-read PATH and --sandbox-write PATH add to it, --sandbox=off leaves it out (docs/sandbox.md)")
	}
}

// ofStore reports whether an error is one of a store, which has its own reasons to deny.
func ofStore(err error) bool {
	var e *millrace.Error
	return errors.As(err, &e) && remote.IsURL(e.File)
}

// LoaderNeeds returns the files that loaders of the plans use. Plans that are nil are
// skipped. A policy has one list of paths, so a command appends the files that it reads
// and writes itself.
func LoaderNeeds(plans ...*loaders.Plan) *sandbox.Policy {
	needs := &sandbox.Policy{}
	for _, plan := range plans {
		if plan == nil {
			continue
		}
		needs.Read = append(needs.Read, dataPaths(plan)...)
		if plan.HasURLs() || remote.IsURL(plan.Path) || remote.IsURL(plan.ListPath) || remote.IsURL(plan.ManifestPath) {
			needs.Connect = true
			needs.Read = append(needs.Read, credentials()...)
		}
		if plan.Service != nil {
			needs.Connect = true
			if plan.Service.Worker != nil {
				needs.Listen = append(needs.Listen, 0, uint16(plan.Service.Worker.Port))
			}
		}
		// Records that are read by their number need indexes, which a run makes.
		if dir := index.CacheDir(); plan.Records != nil && dir != "" && os.MkdirAll(dir, 0o755) == nil {
			needs.Write = append(needs.Write, dir)
		}
	}
	return needs
}

// credentials returns the paths where stores look for credentials.
func credentials() []string {
	paths := []string{os.Getenv("GOOGLE_APPLICATION_CREDENTIALS"), os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE")}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(home, ".aws"))
	}
	if dir, err := os.UserConfigDir(); err == nil {
		paths = append(paths, filepath.Join(dir, "gcloud"))
	}
	return paths
}

// dataPaths returns the files that a loader's plan reads: the config, the manifest, the
// list, and the dataset's folder or else each file and its index.
func dataPaths(plan *loaders.Plan) []string {
	paths := []string{plan.Path, plan.ListPath, index.CacheDir()}
	manifests := []string{plan.ManifestPath}
	for _, part := range plan.Mixture {
		manifests = append(manifests, part.ManifestPath)
	}
	var folders []string
	for _, path := range manifests {
		if remote.IsURL(path) {
			continue
		}
		if filepath.Base(path) == spec.ManifestName && plan.ListPath == "" {
			path = filepath.Dir(path)
			folders = append(folders, path+string(filepath.Separator))
		}
		paths = append(paths, path)
	}
	for _, f := range plan.Files {
		within := func(folder string) bool { return strings.HasPrefix(f.Path, folder) }
		if !remote.IsURL(f.Path) && (!slices.ContainsFunc(folders, within) || isLink(f.Path)) {
			paths = append(paths, f.Path, f.Path+index.Suffix)
		}
	}
	return slices.DeleteFunc(paths, remote.IsURL)
}

// Folders returns the paths and, if they are folders, the symbolic links below them, which
// may lead outside.
func Folders(paths ...string) []string {
	all := slices.Clone(paths)
	for _, path := range paths {
		filepath.WalkDir(path+string(filepath.Separator), func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type()&fs.ModeSymlink != 0 {
				all = append(all, name)
			}
			return nil // what cannot be listed cannot be read either
		})
	}
	return all
}

// Expected returns a path to read that another process may make later: the path itself
// if it exists, or else the first existing folder above it, except the root.
func Expected(path string) string {
	if remote.IsURL(path) {
		return path
	}
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if !missing(at) {
			return at
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return "."
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
