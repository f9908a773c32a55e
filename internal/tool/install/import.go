package install

import (
	"archive/tar"
	"io"
	"strings"

	"millrace"
	"millrace/internal/base/oplibrary"
)

// unpackExport writes the members of an archive that Export wrote to t. The first
// member, the list, is the current one. It must contain exactly the listed files, each
// once, as a regular file of the listed size and hash.
func (s *source) unpackExport(t *tree, members *tar.Reader) error {
	list, err := s.readExportList(members)
	if err != nil {
		return err
	}
	if err := s.room(list.total()); err != nil {
		return err
	}
	wanted := map[string]exportedFile{}
	for _, f := range list.Files {
		if _, ok := wanted[f.Name]; ok {
			return problem(millrace.ErrCorrupt, s.path, "lists %s twice", millrace.QuoteData([]byte(f.Name)))
		}
		wanted[f.Name] = f
	}
	for {
		h, err := members.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return s.broken(err)
		}
		if err := s.exportMember(t, h, members, wanted); err != nil {
			return err
		}
		delete(wanted, h.Name)
	}
	for _, f := range list.Files {
		if _, missing := wanted[f.Name]; missing {
			return problem(millrace.ErrCorrupt, s.path, "lists %s, but does not hold it", f.Name)
		}
	}
	return s.checkOperations(t, list)
}

// exportMember writes one member if it is a listed file that is still missing.
func (s *source) exportMember(t *tree, h *tar.Header, r io.Reader, wanted map[string]exportedFile) error {
	name := millrace.QuoteData([]byte(h.Name))
	want, ok := wanted[h.Name]
	switch {
	case h.Typeflag != tar.TypeReg:
		return problem(millrace.ErrCorrupt, s.path, "%s is not a regular file", name)
	case !ok:
		return problem(millrace.ErrCorrupt, s.path, "%s is not listed, or comes twice", name)
	case h.Size != want.Size:
		return problem(millrace.ErrCorrupt, s.path, "%s has %d bytes, %s says %d", name, h.Size, exportList, want.Size)
	}
	sum, err := t.write(h.Name, r, want.Size)
	if err != nil {
		return s.unpacking(err)
	}
	if sum != want.SHA256 {
		return problem(millrace.ErrCorrupt, s.path, "%s has SHA-256 %s, %s says %s", name, sum, exportList, millrace.QuoteData([]byte(want.SHA256)))
	}
	return nil
}

// checkOperations checks that each library of operations matches its checksum.
func (s *source) checkOperations(t *tree, list *exported) error {
	for _, f := range list.Files {
		if !operationsName.MatchString(f.Name) || strings.HasSuffix(f.Name, oplibrary.StampSuffix) {
			continue
		}
		if err := oplibrary.Verify(t.path(f.Name)); err != nil {
			return problem(millrace.ErrCorrupt, s.path, "%w", err)
		}
	}
	return nil
}
