// Package openinference has what the two interfaces of KServe's Open Inference Protocol
// (version 2) share: names of data types, and tensors in binary form.
package openinference
