// Package openinference has the common parts of the two interfaces of KServe's Open
// Inference Protocol (version 2): names of data types, and tensors in binary form.
package openinference
