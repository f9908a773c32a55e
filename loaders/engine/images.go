package engine

import (
	"runtime"
	"slices"

	"millrace/loaders/processing"
	"millrace/loaders/spec"
)

// ImageChain is a run of processing steps on one image, from its bytes on, that one native
// operation carries out for a whole batch: see [processing.PixelStep].
type ImageChain struct {
	Steps  []int // indexes in the spec's steps, ascending
	Images processing.Images
}

// batchImages: one operation makes all images of a batch.
var batchImages = rewrite{name: "batch_images", shown: decodesImages, rules: []rule{
	{when: func(c Choice) bool { return !c.Own }, why: "the library of dataset operations is not built for this runtime (millrace runtime native)"},
	{when: func(Choice) bool { return runtime.GOARCH != "amd64" }, why: "on this processor TensorFlow's kernels may round in another way"},
	{stage: windows, why: "windows are processed one by one"},
	{stage: chunked, why: "sequences are processed one by one"},
	{stage: buckets, why: "examples are put into buckets one by one"},
	{when: special, why: "the loader type has a stage that sees records one by one"},
	{when: Choice.Filters, why: "examples are filtered one by one"},
	{when: either(lists, Choice.MakesRows), why: "examples differ in length"},
	{when: func(c Choice) bool { return len(imageChains(c)) == 0 }, why: "no run of steps decodes an image, resizes it with the method bilinear, and does nothing else that the operation cannot do"},
	{when: func(c Choice) bool { return len(c.BatchSteps) > 0 || !onlyChains(c) }, why: "the processing step SINGLE works on one example at a time"},
	{applied: true, why: "the images of a batch are decoded, resized, mirrored and normalized by one operation"},
}}

// decodesImages reports whether a step decodes an image.
func decodesImages(c Choice) bool {
	return slices.ContainsFunc(c.Steps, func(s spec.Step) bool { _, ok := s.Action.(processing.Decoder); return ok })
}

// BatchesImages decides whether one operation makes all images of a batch.
func BatchesImages(c Choice) Rewrite { return c.decide(batchImages) }

// ImageChains returns the runs of steps that one operation carries out. There are none unless
// [BatchesImages].
func ImageChains(c Choice) []ImageChain {
	if !decodesImages(c) || !BatchesImages(c).Applied {
		return nil
	}
	return imageChains(c)
}

func imageChains(c Choice) (list []ImageChain) {
	for i, s := range c.Steps {
		if _, ok := s.Action.(processing.Decoder); !ok {
			continue
		}
		if chain := chainFrom(c, i); processing.Resized(&chain.Images) {
			list = append(list, chain)
		}
	}
	return list
}

// chainFrom returns the longest run of steps from a step that decodes on.
func chainFrom(c Choice, first int) (chain ImageChain) {
	chain.Images.Limit = c.DecodeLimit
	chain.Steps = runFrom(c, first, func(s spec.Step) bool {
		p, ok := s.Action.(processing.PixelStep)
		return ok && p.AddTo(&chain.Images)
	})
	return chain
}

// onlyChains reports whether all steps work on batches, or belong to runs on images.
func onlyChains(c Choice) bool {
	var within []int
	for _, chain := range imageChains(c) {
		within = append(within, chain.Steps...)
	}
	others := func(yield func(spec.Step) bool) {
		for i, s := range c.Steps {
			if !slices.Contains(within, i) && !yield(s) {
				return
			}
		}
	}
	return spec.FirstSingle(others, false, false, false) == nil
}
