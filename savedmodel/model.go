package savedmodel

import (
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/savedmodel/bundle"
	"millrace/savedmodel/modelfile"
	"millrace/sigdef"
)

// Model describes a SavedModel directory that has passed all checks.
type Model struct {
	Dir        string
	Tags       []string              // tags of the meta graph that was read
	TagSets    [][]string            // tags of all meta graphs, in the order of the file
	Signatures map[string]*Signature // signatures by name
	Unusable   map[string]error      // why the other signatures cannot be called
	Variables  []bundle.Variable     // variables that the model restores, sorted by name

	// TensorFlow is the version that wrote the model, "" if that is unknown.
	TensorFlow string
	// SHA256 is the digest of saved_model.pb, in hexadecimal. Pin it with
	// Options.SHA256.
	SHA256 string
	// Fingerprinted reports that saved_model.pb and variables.index match the checksums
	// that TensorFlow wrote to fingerprint.pb.
	Fingerprinted bool

	// Warnings are oddities of the model that do not prevent using it.
	Warnings []error
	// Refused are the reasons for which Read refuses the model unless
	// Options.Unchecked is set: the policy's, and checksums in fingerprint.pb that
	// do not match. Without that option there are none.
	Refused []error

	program   *Program
	bundle    *bundle.Index // nil without variables
	objects   []byte        // the graph of Python's objects
	unchecked bool
	fetched   *fetched // nil for a folder
}

// Options select a part of a model, and what the model is allowed to do.
type Options struct {
	// Tags select a meta graph, which has exactly these. nil selects the one with
	// the tag "serve", or the only one of a model.
	Tags []string
	// Signatures are those that the model must have.
	Signatures []string
	// AllowOps names operations to allow, wherever they stand, although they
	// touch files, the network or the process, or are not TensorFlow's own.
	AllowOps []string
	// Unchecked loads a model that the policy refuses. THE MODEL CAN DO WHATEVER THE
	// PROCESS CAN: read and write files, use the network, end the process. The model's
	// safety is not checked; Model.Refused lists the refusals. Set it only for models
	// that you would also run as programs. Anything that would crash TensorFlow is
	// still an error.
	Unchecked bool
	// SHA256 is the expected digest of saved_model.pb, in hexadecimal; ""
	// accepts any.
	SHA256 string
	// IgnoreFingerprint accepts a model that does not match its fingerprint.pb, for
	// example because it was edited by hand.
	IgnoreFingerprint bool
	// SkipTensorChecksums leaves the bytes of variables unread: TensorFlow checks them
	// again as it restores. Sizes are still checked.
	SkipTensorChecksums bool
	// MaxBytes limits saved_model.pb; 0 means 512 MiB.
	MaxBytes int64
	// MaxNodes limits the nodes of a graph or function, and the functions; 0
	// means a million.
	MaxNodes int
}

// Signature returns the signature with a name, or an error that lists the existing
// ones.
func (m *Model) Signature(name string) (*Signature, error) {
	if err := m.Unusable[name]; err != nil {
		return nil, err
	}
	return findSignature(m.Dir, m.Signatures, name)
}

// findSignature looks up a signature; file is where it should be.
func findSignature(file string, sigs map[string]*Signature, name string) (*Signature, error) {
	if s, ok := sigs[name]; ok {
		return s, nil
	}
	var present []string
	for _, key := range slices.Sorted(maps.Keys(sigs)) {
		present = append(present, describe(sigs[key]))
	}
	e := millrace.Errorf(millrace.ErrModel, "there is no such signature; the model has %s", modelfile.ShortList(present))
	e.Op, e.File, e.Signature = "read model", file, name
	return nil, e
}

func (o *Options) signatures() []string {
	return slices.Compact(slices.Sorted(slices.Values(o.Signatures)))
}

func (o *Options) maxBytes() int64 {
	if o == nil || o.MaxBytes <= 0 {
		return defaultMaxBytes
	}
	return o.MaxBytes
}

func (o *Options) maxNodes() int {
	if o == nil || o.MaxNodes <= 0 {
		return defaultMaxNodes
	}
	return o.MaxNodes
}

// describe returns a signature for a message: name(inputs) -> outputs.
func describe(s *Signature) string {
	names := func(tensors []Tensor) string {
		var out []string
		for _, t := range tensors {
			out = append(out, modelfile.Quote(t.Name))
		}
		return strings.Join(out, ", ")
	}
	return modelfile.Quote(s.Name) + " (" + names(s.Inputs) + ") -> (" + names(s.Outputs) + ")"
}

// Limits of the sizes. Options can change the first two.
const (
	defaultMaxBytes = 512 << 20 // limit of saved_model.pb
	defaultMaxNodes = 1 << 20   // limit of the nodes in a graph or function, and of the functions in a library

	maxTextBytes  = 64 << 20 // limit of saved_model.pbtxt: text grows when it is parsed
	maxSmallBytes = 1 << 20  // limit of fingerprint.pb
)

// Signature is one way to call a model, see [sigdef.Signature].
type Signature = sigdef.Signature

// Tensor is an input or output of a signature, see [sigdef.Tensor].
type Tensor = sigdef.Tensor

// Encoding is the way a tensor of a signature is composed of components.
type Encoding = sigdef.Encoding

// The encodings.
const (
	Dense     = sigdef.Dense
	Sparse    = sigdef.Sparse
	Ragged    = sigdef.Ragged
	Composite = sigdef.Composite
)

// Variable is a tensor that a model restores.
type Variable = bundle.Variable

// ObjectGraphKey is the entry of a checkpoint that holds the graph of Python's objects,
// a serialized TrackableObjectGraph. It is not a variable.
const ObjectGraphKey = bundle.ObjectGraphKey

// MaxIndexBytes is the maximum size of variables.index.
const MaxIndexBytes = bundle.MaxIndexBytes
