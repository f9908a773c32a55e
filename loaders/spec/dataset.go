package spec

import "millrace/loaders/decl"

// DatasetConfig says where the data is.
type DatasetConfig struct {
	decl.Object
	Type string `json:"type" decl:"required" doc:"How the data files are named."`
	Args any    `json:"args" decl:"required,variant=type" doc:"The dataset's arguments; type says which there are."` // *DirArgs or *ListArgs
}

// Variants lists the arguments of each dataset type.
func (*DatasetConfig) Variants(string) []decl.Variant {
	return []decl.Variant{
		{Name: "dir", New: func() any { return new(DirArgs) },
			Doc: "The data files at any depth of a folder: those whose names end in .tfrecords, or match pattern. They are read in bytewise order of their paths."},
		{Name: "list", New: func() any { return new(ListArgs) },
			Doc: "The files that a text file lists."},
	}
}

// DirArgs are the arguments of a dataset of type dir.
type DirArgs struct {
	decl.Object
	DataDir string `json:"data_dir" decl:"required,nonempty" doc:"The folder, with __manifest__.json at its top. A relative path starts at the config's folder."`

	Pattern decl.Either[string, []string] `json:"pattern" decl:"nonempty,most=1000,items.nonempty" doc:"Which files of the folder are data files, in place of those whose names end in .tfrecords: a glob, or a list of globs of which one must match, over the path relative to data_dir. * matches any part of a name, ? one character, [0-9] one of several, and **/ any number of folders."`
}

// ListArgs are the arguments of a dataset of type list.
type ListArgs struct {
	decl.Object
	ManifestFile string `json:"manifest_file" decl:"required,nonempty" doc:"The manifest of all data files. A relative path starts at the config's folder."`
	ListFile     string `json:"list_file" decl:"required,nonempty" doc:"A text file with the path of one data file a line; a relative path in it starts at the list's own folder. Blank lines and blanks around a path are ignored. A relative path of the list itself starts at the config's folder."`
}

// The names of files in a dataset of type dir.
const (
	ManifestName  = "__manifest__.json" // the manifest, at the folder's top
	DataExtension = ".tfrecords"        // data files, at any depth
)

// datasetPart finds the manifest and the data files.
type datasetPart struct{ *checker }

const (
	maxFiles   = 1_000_000 // files of a dataset
	maxFolders = 100       // depth of nested folders
)
