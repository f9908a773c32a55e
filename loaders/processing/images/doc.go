// Package images has the processing steps that work on images: tensors of shape [height,
// width, channels], and the bytes that they are decoded from. Each type of step is a file;
// package catalog lists them.
package images
