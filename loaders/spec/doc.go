// Package spec reads loader configs, dataset manifests and lists of data files,
// and reports everything that is wrong with them at once, with places. What it
// returns is a [Spec]: checked, typed, with defaults filled in and names and
// shapes resolved. It needs no TensorFlow.
//
//	s, problems := spec.Check("loader.json", nil)
//	if s == nil {
//		return problems
//	}
//	for _, t := range s.Tensors {
//		fmt.Println(t.Name, t.DType, t.Shape)
//	}
//
// Each part of a config is a struct that declares its keys, and a type with the rules
// between keys (padding.go has PaddingConfig and paddingPart), in one file. A new loader
// type is an entry of the table in loader_type.go and a file of package loadertype, a
// processing step an entry of the table of package catalog and a file.
package spec
