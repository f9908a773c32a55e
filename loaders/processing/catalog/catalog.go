// Package catalog lists the types of processing steps. To add a type, add a file in the
// folder of its family and a line here.
package catalog

import (
	"millrace/loaders/processing"
	"millrace/loaders/processing/audio"
	"millrace/loaders/processing/images"
	"millrace/loaders/processing/models"
	"millrace/loaders/processing/numbers"
	"millrace/loaders/processing/tensors"
	"millrace/loaders/processing/text"
)

// Types are the types of processing steps, in the order that schemas list them.
var Types = []processing.Type{
	// Tensors of any data type.
	{Name: "slice", Doc: "Takes a part of the tensor.", Args: func() processing.Args { return new(tensors.SliceArgs) }},
	{Name: "cast", Doc: "Converts the tensor to another data type.", Args: func() processing.Args { return new(tensors.CastArgs) }},
	{Name: "reshape", Doc: "Gives the values another shape.", Args: func() processing.Args { return new(tensors.ReshapeArgs) }},
	{Name: "transpose", Doc: "Exchanges axes.", Args: func() processing.Args { return new(tensors.TransposeArgs) }},
	{Name: "expand_dims", Doc: "Adds an axis of size 1.", Args: func() processing.Args { return new(tensors.ExpandDimsArgs) }},
	{Name: "squeeze", Doc: "Removes an axis of size 1.", Args: func() processing.Args { return new(tensors.SqueezeArgs) }},
	{Name: "gather", Doc: "Takes positions of an axis.", Args: func() processing.Args { return new(tensors.GatherArgs) }},
	{Name: "pad", Doc: "Adds values before and after the axes.", Args: func() processing.Args { return new(tensors.PadArgs) }},
	{Name: "concat", Doc: "Joins tensors along an axis.", Args: func() processing.Args { return new(tensors.ConcatArgs) }, Reads: processing.Several},
	{Name: "stack", Doc: "Joins tensors along a new axis.", Args: func() processing.Args { return new(tensors.StackArgs) }, Reads: processing.Several},
	{Name: "drop", Doc: "Removes tensors that only steps need.", Args: func() processing.Args { return new(tensors.DropArgs) }, Reads: processing.Any, Drops: true},
	{Name: "rename", Doc: "Gives the tensor another name.", Args: func() processing.Args { return new(tensors.RenameArgs) }, Named: true, Moves: true},
	{Name: "constant", Doc: "Makes a tensor with one value everywhere.", Args: func() processing.Args { return new(tensors.ConstantArgs) }, Reads: processing.None},
	{Name: "filter", Doc: "Keeps the examples that fulfil conditions.", Args: func() processing.Args { return new(tensors.FilterArgs) }, Reads: processing.None, Filters: true},

	// Numbers.
	{Name: "scale", Doc: "Computes x * factor + offset.", Args: func() processing.Args { return new(numbers.ScaleArgs) }},
	{Name: "normalize", Doc: "Computes (x - mean) / std.", Args: func() processing.Args { return new(numbers.NormalizeArgs) }},
	{Name: "clip", Doc: "Limits the values to a range.", Args: func() processing.Args { return new(numbers.ClipArgs) }},
	{Name: "abs", Doc: "Takes absolute values.", Args: func() processing.Args { return new(numbers.AbsArgs) }},
	{Name: "log", Doc: "Takes natural logarithms.", Args: func() processing.Args { return new(numbers.LogArgs) }},
	{Name: "log1p", Doc: "Computes log(1 + x).", Args: func() processing.Args { return new(numbers.Log1pArgs) }},
	{Name: "exp", Doc: "Computes e to the power of x.", Args: func() processing.Args { return new(numbers.ExpArgs) }},
	{Name: "sqrt", Doc: "Takes square roots.", Args: func() processing.Args { return new(numbers.SqrtArgs) }},
	{Name: "bucketize", Doc: "Replaces each value by the number of its bucket.", Args: func() processing.Args { return new(numbers.BucketizeArgs) }},
	{Name: "one_hot", Doc: "Adds an axis of classes, with another value at the class that the number names.", Args: func() processing.Args { return new(numbers.OneHotArgs) }},
	{Name: "multi_hot", Doc: "Replaces the last axis, a set of classes, by an axis of all classes.", Args: func() processing.Args { return new(numbers.MultiHotArgs) }},
	{Name: "compare", Doc: "Compares each value with one, which gives a bool.", Args: func() processing.Args { return new(numbers.CompareArgs) }},
	{Name: "arithmetic", Doc: "Computes with the values of two tensors.", Args: func() processing.Args { return new(numbers.ArithmeticArgs) }, Reads: processing.Several},

	// Text.
	{Name: "lower", Doc: "Makes the letters A to Z small.", Args: func() processing.Args { return new(text.LowerArgs) }},
	{Name: "upper", Doc: "Makes the letters a to z capital.", Args: func() processing.Args { return new(text.UpperArgs) }},
	{Name: "strip", Doc: "Removes white space from both ends of each string.", Args: func() processing.Args { return new(text.StripArgs) }},
	{Name: "regex_replace", Doc: "Replaces what a regular expression matches.", Args: func() processing.Args { return new(text.RegexReplaceArgs) }},
	{Name: "split", Doc: "Splits a string into a vector.", Args: func() processing.Args { return new(text.SplitArgs) }},
	{Name: "split_bytes", Doc: "Splits a string into a vector of its bytes.", Args: func() processing.Args { return new(text.SplitBytesArgs) }},
	{Name: "unicode_decode", Doc: "Splits a string into a vector of code points, int32.", Args: func() processing.Args { return new(text.UnicodeDecodeArgs) }},
	{Name: "join", Doc: "Joins strings: those along the last axis, or those of several tensors.", Args: func() processing.Args { return new(text.JoinArgs) }, Reads: processing.Any},
	{Name: "substr", Doc: "Takes a part of each string.", Args: func() processing.Args { return new(text.SubstrArgs) }},
	{Name: "to_number", Doc: "Reads a number from each string.", Args: func() processing.Args { return new(text.ToNumberArgs) }},
	{Name: "ngrams", Doc: "Makes a vector of all runs of words of a vector.", Args: func() processing.Args { return new(text.NgramsArgs) }},
	{Name: "lookup", Doc: "Replaces each string by its number in a vocabulary, an int64.", Args: func() processing.Args { return new(text.LookupArgs) }},
	{Name: "hash", Doc: "Replaces each string by a number that is computed from it, an int64.", Args: func() processing.Args { return new(text.HashArgs) }},

	// Images.
	{Name: "decode_image", Doc: "Decodes a JPEG, PNG, GIF or BMP.", Args: func() processing.Args { return new(images.DecodeImageArgs) }, Decodes: true},
	{Name: "resize", Doc: "Changes the size of an image, as tf.image.resize does.", Args: func() processing.Args { return new(images.ResizeArgs) }},
	{Name: "center_crop", Doc: "Cuts the middle out of an image.", Args: func() processing.Args { return new(images.CenterCropArgs) }},
	{Name: "pad_or_crop", Doc: "Pads or crops an image around its middle to a size.", Args: func() processing.Args { return new(images.PadOrCropArgs) }},
	{Name: "grayscale", Doc: "Makes one channel of three.", Args: func() processing.Args { return new(images.GrayscaleArgs) }},
	{Name: "per_image_standardization", Doc: "Makes the mean of each image 0 and its variance 1.", Args: func() processing.Args { return new(images.StandardizationArgs) }},
	{Name: "random_crop", Doc: "Cuts a part of a size out of an image, anywhere.", Args: func() processing.Args { return new(images.RandomCropArgs) }, Random: true},
	{Name: "random_resized_crop", Doc: "Cuts a part of any size out of an image, and resizes it.", Args: func() processing.Args { return new(images.RandomResizedCropArgs) }, Random: true},
	{Name: "random_flip_left_right", Doc: "Mirrors an image, or not, by even chances.", Args: func() processing.Args { return new(images.RandomFlipLeftRightArgs) }, Random: true},
	{Name: "random_flip_up_down", Doc: "Turns an image upside down, or not, by even chances.", Args: func() processing.Args { return new(images.RandomFlipUpDownArgs) }, Random: true},
	{Name: "random_brightness", Doc: "Adds one number to all pixels.", Args: func() processing.Args { return new(images.RandomBrightnessArgs) }, Random: true},
	{Name: "random_contrast", Doc: "Multiplies the distance of all pixels from their mean.", Args: func() processing.Args { return new(images.RandomContrastArgs) }, Random: true},
	{Name: "random_saturation", Doc: "Multiplies the saturation.", Args: func() processing.Args { return new(images.RandomSaturationArgs) }, Random: true},
	{Name: "random_hue", Doc: "Turns the hue.", Args: func() processing.Args { return new(images.RandomHueArgs) }, Random: true},
	{Name: "rand_augment", Doc: "Carries out operations that are drawn from a list: RandAugment.", Args: func() processing.Args { return new(images.RandAugmentArgs) }, Random: true},
	{Name: "random_rotate90", Doc: "Rotates an image by 0 to 3 quarter turns.", Args: func() processing.Args { return new(images.RandomRotate90Args) }, Random: true},

	// Sound.
	{Name: "decode_wav", Doc: "Decodes a WAV file, [samples, channels].", Args: func() processing.Args { return new(audio.DecodeWavArgs) }, Decodes: true},
	{Name: "stft", Doc: "Makes the magnitudes of a short-time Fourier transform along the last axis.", Args: func() processing.Args { return new(audio.StftArgs) }},
	{Name: "mel", Doc: "Joins the bins of a spectrogram to mel bands.", Args: func() processing.Args { return new(audio.MelArgs) }},
	{Name: "mfcc", Doc: "Makes mel-frequency cepstral coefficients of the logarithms of mel bands.", Args: func() processing.Args { return new(audio.MfccArgs) }},
	{Name: "delta", Doc: "Makes the slopes of features over time, the first axis.", Args: func() processing.Args { return new(audio.DeltaArgs) }},
	{Name: "time_mask", Doc: "Sets parts of the first axis to 0.", Args: func() processing.Args { return new(audio.TimeMaskArgs) }, Random: true},
	{Name: "freq_mask", Doc: "Sets parts of the last axis to 0.", Args: func() processing.Args { return new(audio.FreqMaskArgs) }, Random: true},
	{Name: "random_gain", Doc: "Multiplies all values with one number.", Args: func() processing.Args { return new(audio.RandomGainArgs) }, Random: true},
	{Name: "random_noise", Doc: "Adds normally distributed noise.", Args: func() processing.Args { return new(audio.RandomNoiseArgs) }, Random: true},

	// Models.
	{Name: "savedmodel", Doc: "Calls a signature of a saved model.", Args: func() processing.Args { return new(models.SavedModelArgs) }, Reads: processing.None},
}
